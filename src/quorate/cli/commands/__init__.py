"""The commands, each thin: what goes in, which function is called, what comes out."""

from quorate.cli.commands.aggregate import aggregate
from quorate.cli.commands.assign import assign
from quorate.cli.commands.compare import compare
from quorate.cli.commands.data import data
from quorate.cli.commands.demo import demo
from quorate.cli.commands.diagnose import diagnose
from quorate.cli.commands.explain import explain
from quorate.cli.commands.methods import methods
from quorate.cli.commands.simulate import simulate

COMMANDS = {
    str(command.name): command
    for command in (
        aggregate,
        assign,
        compare,
        data,
        demo,
        diagnose,
        explain,
        methods,
        simulate,
    )
}
