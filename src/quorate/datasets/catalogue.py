"""The known data sets: what was asked, where they come from, and what they must contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypedDict

from quorate.datasets.originals import (
    Convert,
    above_median,
    annotations_with_gold,
    archive_of_answers,
    archive_of_attributes,
    confirmed_tweets,
    dictionary_in_python,
    matrix,
    rows_of_votes,
    words,
)

# How far the conversion was tried on the original files. Whatever it says, the checksums decide.
WHOLE = "tried on all of the original"
PART = "tried on the first rows of the original"
UNTRIED = "not tried on the original yet"


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Attributes:
        name: Its directory and what it is called here.
        summary: What was asked of whom.
        source: The address of the original, for people.
        licence: As the original states it.
        urls: The original files.
        convert: Makes the tables of those files.
        tasks: How many tasks have votes (or known answers, where nobody voted).
        workers: How many people (or simulated ones) voted.
        labels: How many votes there are.
        classes: How many different answers.
        gold: How many known answers.
        n_features: How many binary features the tasks may have.
        checksums: Of each table, by `quorate.datasets.checksum`.
        commit: Of the repository, where the original is in one.
        tried: How far the conversion was tried on the original files.
        derived: Tables that were made from the original and may be lacking.
    """

    name: str
    summary: str
    source: str
    licence: str
    urls: tuple[str, ...]
    convert: Convert
    tasks: int
    workers: int
    labels: int
    classes: int
    gold: int
    n_features: int
    checksums: Mapping[str, str]
    commit: str = ""
    tried: str = UNTRIED
    derived: tuple[str, ...] = ()


class _Where(TypedDict):
    source: str
    commit: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class _GitHub:
    """A repository at a commit, so that its files stay as they are."""

    repository: str
    commit: str

    def files(self, *paths: str) -> _Where:
        raw = f"https://raw.githubusercontent.com/{self.repository}/{self.commit}"
        return {
            "source": f"https://github.com/{self.repository}",
            "commit": self.commit,
            "urls": tuple(f"{raw}/{path}" for path in paths),
        }


GET_ANOTHER_LABEL = _GitHub(
    "ipeirotis/Get-Another-Label", "9fe6c56a7a157dba1a12018f696bad56806125b7"
)
SPECTRAL = _GitHub("zhangyuc/SpectralMethodsMeetEM", "6204f5fcab1766cb1b2c40fc1bff53b1613ddc6c")
TRUTH_INFERENCE = _GitHub(
    "zhydhkcws/zhydhkcws.github.io", "a9d529c10b919e54844b715383f357b2f7f3bca3"
)
DAWID_SKENE = _GitHub("dallascard/dawid_skene", "9f49db72b6e2d7b3162d9c9247be3b68575cc263")
LOGREG = _GitHub("fmpr/LogReg-Crowds", "eb78f095d49d9556a71f007c949be43d64503372")
LEARNING_CROWDS = _GitHub("fmenat/PyLearningCrowds", "0edf617d0357a43b48dc53f10f4181ec0163d4db")
SNOW = _GitHub(
    "edwinrobots/bayesian_combination_tutorial2", "f98448e2e9a941463aa92f418eefd1f43bd5a637"
)
SNORKEL = _GitHub("snorkel-team/snorkel-extraction", "ce9551bd47f1f0a8e52fa88c155e3bb43f636b8b")

WORKER_FIRST = partial(rows_of_votes, columns=("worker", "task", "label"))
MUSHROOM = [
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "stalk-surface-above-ring",
    "stalk-surface-below-ring",
    "stalk-color-above-ring",
    "stalk-color-below-ring",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
]
CONGRESS = [
    "handicapped-infants",
    "water-project-cost-sharing",
    "adoption-of-the-budget-resolution",
    "physician-fee-freeze",
    "el-salvador-aid",
    "religious-groups-in-schools",
    "anti-satellite-test-ban",
    "aid-to-nicaraguan-contras",
    "mx-missile",
    "immigration",
    "synfuels-corporation-cutback",
    "education-spending",
    "superfund-right-to-sue",
    "crime",
    "duty-free-exports",
    "export-administration-act-south-africa",
]

_DATA_SETS = (
    DataSet(
        name="adult2",
        summary="How adult is this web site? Mechanical Turk; only sites with a known answer.",
        **GET_ANOTHER_LABEL.files("data/AdultContent2/labels.txt", "data/AdultContent2/gold.txt"),
        licence="Apache 2.0",
        convert=partial(WORKER_FIRST, gold_only=True),
        tried=PART,
        tasks=333,
        workers=269,
        labels=3324,
        classes=4,
        gold=333,
        n_features=0,
        checksums={
            "labels": "77db63d610789fc6dfa8453e487a9192074ecd926e67fad143e3d19c8cadb02a",
            "gold": "8de5e28b1abb16de2f284ea308fa962493adbc9a97663910f7663f80d5d62329",
        },
    ),
    DataSet(
        name="bird",
        summary="Is this an indigo bunting or a blue grosbeak? Mechanical Turk; all photos to all.",
        **SPECTRAL.files("src/bluebird_crowd.txt", "src/bluebird_truth.txt"),
        licence="none stated",
        convert=rows_of_votes,
        tasks=108,
        workers=39,
        labels=4212,
        classes=2,
        gold=108,
        n_features=0,
        checksums={
            "labels": "247a500c0f712508f0311b71cdcb2ecda77a4f84136474f26cc0db2b4395faf9",
            "gold": "0c8b6f2d91ad8a4f37dafcf1b2b5660c839539ecd74eadac0ff3e9d79cfa3606",
        },
    ),
    DataSet(
        name="bm",
        summary="Is this tweet positive? Mechanical Turk.",
        **GET_ANOTHER_LABEL.files(
            "data/BarzanMozafari/labels.txt", "data/BarzanMozafari/evaluation.txt"
        ),
        licence="Apache 2.0",
        convert=WORKER_FIRST,
        tried=PART,
        tasks=1000,
        workers=83,
        labels=5000,
        classes=2,
        gold=1000,
        n_features=0,
        checksums={
            "labels": "ce5ad453ae44dbe76eb5626f175eb4f74eda6fce4d059d4f15812c2542f98dee",
            "gold": "f2c5c8a679fe657009b07175ec675a05c3a31171270217cddc89d242a052db2a",
        },
    ),
    DataSet(
        name="d_possent",
        summary="Is this tweet positive about the company? Mechanical Turk.",
        **TRUTH_INFERENCE.files("crowd_truth_inference/datasets.zip"),
        licence="none stated",
        convert=partial(archive_of_answers, folder="datasets/d_sentiment"),
        tasks=1000,
        workers=85,
        labels=20000,
        classes=2,
        gold=1000,
        n_features=0,
        checksums={
            "labels": "749305e7bcf11ee72caba75b7428e3ff378c1a16676898c53cd7bd97bd2118f5",
            "gold": "f4c47db2cc56e25c89a41aea09b6a7a3e4c7677908569d05132a6cb7be1712ff",
        },
    ),
    DataSet(
        name="dawid_skene_1979",
        summary="How fit is this patient? Five anaesthetists, one of them three times.",
        **DAWID_SKENE.files("dawid_skene.py"),
        licence="none stated",
        convert=dictionary_in_python,
        tried=WHOLE,
        tasks=45,
        workers=5,
        labels=315,
        classes=4,
        gold=0,
        n_features=0,
        checksums={
            "labels": "63aa8eff39f49ce8413d45a0ca51607d368ad73e7e39e8130a211ef46d976eaa",
        },
    ),
    DataSet(
        name="dog",
        summary="Which of four breeds is this dog? Mechanical Turk.",
        **SPECTRAL.files("src/dog_crowd.txt", "src/dog_truth.txt"),
        licence="none stated",
        convert=rows_of_votes,
        tasks=807,
        workers=109,
        labels=8070,
        classes=4,
        gold=807,
        n_features=0,
        checksums={
            "labels": "13119f5896898f9eceae707ff284336306ec69570fc7f6fdbcef12e9d94c5e44",
            "gold": "8b40134caa70d85193cbf55ef92a30c8d5659e87200f2e58f73da33dc2505eb3",
        },
    ),
    DataSet(
        name="dog_min40",
        summary="The same of workers with at least 40 labels, as in the papers.",
        **SPECTRAL.files("src/dog_crowd.txt", "src/dog_truth.txt"),
        licence="none stated",
        convert=partial(rows_of_votes, at_least=40),
        tasks=807,
        workers=52,
        labels=7354,
        classes=4,
        gold=807,
        n_features=0,
        checksums={
            "labels": "2e6d1ef381ca7374f25e20bc93b4a883dcee6e58d2f548619398696f7885bf2c",
            "gold": "8b40134caa70d85193cbf55ef92a30c8d5659e87200f2e58f73da33dc2505eb3",
        },
    ),
    DataSet(
        name="iris_ma",
        summary="Which iris is this? Five simulated annotators.",
        **LOGREG.files("data/fisheriris_labels_ma.csv", "data/fisheriris_labels.csv"),
        licence="GPL 3.0",
        convert=matrix,
        tried=WHOLE,
        tasks=150,
        workers=5,
        labels=750,
        classes=3,
        gold=150,
        n_features=0,
        checksums={
            "labels": "271f590e6337bff870fbc57a383866b129d60e10022163b166476a877c4d41e8",
            "gold": "aa1e2a099db99ad8c99c7d86ad33dd4afddbe4ab3d94fa1ec4957804370081ee",
        },
    ),
    DataSet(
        name="labelme",
        summary="Which of eight scenes is in this image? Mechanical Turk.",
        **LEARNING_CROWDS.files(
            "data/LabelMe/answers.txt",
            "data/LabelMe/LabelMe_Z_train.txt",
            "data/LabelMe/LabelMe_VGG_avg_train.npy",
        ),
        licence="none stated",
        convert=partial(matrix, features=above_median),
        tried=PART,
        tasks=1000,
        workers=59,
        labels=2547,
        classes=8,
        gold=1000,
        n_features=512,
        checksums={
            "labels": "27233de75d17b0ad0854a94e184c68e8507b8698f87bbb41cbd8f37b7845a07d",
            "gold": "353cbaecf548efac7baeca00164072e6c4d7651e63b38fa82b9f475d381ea157",
            "features": "e71762a9a7951c6367cf691e451d4b404f2b662a30763a6b1fc9ffc0354ab48a",
        },
        derived=("features",),
    ),
    DataSet(
        name="mushroom",
        summary="Is this mushroom edible (0) or poisonous (1)? No votes: simulate them.",
        source="https://archive.ics.uci.edu/dataset/73/mushroom",
        urls=("https://archive.ics.uci.edu/static/public/73/mushroom.zip",),
        licence="CC BY 4.0",
        convert=partial(archive_of_attributes, member="agaricus-lepiota.data", attributes=MUSHROOM),
        tried=PART,
        tasks=8124,
        workers=0,
        labels=0,
        classes=2,
        gold=8124,
        n_features=111,
        checksums={
            "gold": "2a16763ab2eb308b11bb122f262374444ddb4c80e21d8c6f957bfd1f3fbf0acc",
            "features": "78ea4fbf3010e7d5667e2eff2c69f4ab56899c225b8c0dca099625581d1125f4",
        },
    ),
    DataSet(
        name="rte",
        summary="Does the second sentence follow from the first? Mechanical Turk.",
        **SPECTRAL.files("src/rte_crowd.txt", "src/rte_truth.txt"),
        licence="none stated",
        convert=rows_of_votes,
        tasks=800,
        workers=164,
        labels=8000,
        classes=2,
        gold=800,
        n_features=0,
        checksums={
            "labels": "f44755259f425075c9ac55c228f72a12e1b56670f47cf2392bb6f90527febebe",
            "gold": "c770d5fd24d8e1748bef65a99bdcc11142d413216f293176e40830ec179c15e5",
        },
    ),
    DataSet(
        name="s_rel",
        summary="How relevant is this page, or is the link broken? The crowd of TREC 2010.",
        **TRUTH_INFERENCE.files("crowd_truth_inference/datasets.zip"),
        licence="none stated",
        convert=partial(archive_of_answers, folder="datasets/s4_Relevance"),
        tried=PART,
        tasks=20232,
        workers=766,
        labels=98453,
        classes=4,
        gold=4460,
        n_features=0,
        checksums={
            "labels": "cc58496190323ecb7975e1c33569988e0e49a4d02fbad907e4f7eed36411bf0d",
            "gold": "b0b3f65746f310fb2859b3b92f83a2b9c3c70630503457ca3260269953e1c4bd",
        },
    ),
    DataSet(
        name="sp",
        summary="Is this sentence of a film review positive? Mechanical Turk.",
        **LEARNING_CROWDS.files(
            "data/Sentiment/answers.txt",
            "data/Sentiment/Sentiment_Z_train.txt",
            "data/Sentiment/Sentiment_text_train.txt",
        ),
        licence="none stated",
        convert=partial(matrix, features=words),
        tried=PART,
        tasks=4999,
        workers=203,
        labels=27746,
        classes=2,
        gold=4999,
        n_features=2388,
        checksums={
            "labels": "f3c4e666d131333189ffd29702b27d5406e39f83cac403b0c2293c466d89339d",
            "gold": "d34df174f8d50608090940dba55bc31e0b5034a13bb102281839b4b2addf5c6e",
            "features": "919b0210636f4cfc6283348918b47687090600990b154571d3598dc5499d754c",
        },
        derived=("features",),
    ),
    DataSet(
        name="temp",
        summary="Which of these two events came first? Mechanical Turk.",
        **SNOW.files("all_collected_data/temp.standardized.tsv"),
        licence="none stated for the data (MIT for the repository)",
        convert=annotations_with_gold,
        tasks=462,
        workers=76,
        labels=4620,
        classes=2,
        gold=462,
        n_features=0,
        checksums={
            "labels": "784759404874c50947a9c5a7445a569604ca70e666d0b5890a8e0ee3c5d298a5",
            "gold": "afb4fea847b7941ad97e30a366255cefdc96a73c975f2ce86417d27cadeff9f0",
        },
    ),
    DataSet(
        name="trec",
        summary="Is this page relevant? The crowd of TREC.",
        **SPECTRAL.files("src/trec_crowd.txt", "src/trec_truth.txt"),
        licence="none stated",
        convert=rows_of_votes,
        tasks=19033,
        workers=762,
        labels=88385,
        classes=2,
        gold=2275,
        n_features=0,
        checksums={
            "labels": "b0620ffa3b65573774dc72ac6fac88390d61ac121dcd80e7e572098832d57ab0",
            "gold": "0d95bec01731db731dfeb1e61ec1b9cb7b6e633ba1c11c7fc61094fc98bddfa3",
        },
    ),
    DataSet(
        name="vote",
        summary="Is this member of Congress a Democrat (0) or a Republican (1)? No crowd.",
        source="https://archive.ics.uci.edu/dataset/105/congressional+voting+records",
        urls=("https://archive.ics.uci.edu/static/public/105/congressional+voting+records.zip",),
        licence="CC BY 4.0",
        convert=partial(archive_of_attributes, member="house-votes-84.data", attributes=CONGRESS),
        tried=PART,
        tasks=435,
        workers=0,
        labels=0,
        classes=2,
        gold=435,
        n_features=16,
        checksums={
            "gold": "abe92e5a6b742ae9e6e34fe7173f26a98e5002e65f689ac07f08bb7aded7b093",
            "features": "fb4a66a4213ed39dc80dd16d2c6fd0789eaa74900796814c4bde4ba51f752520",
        },
    ),
    DataSet(
        name="weather",
        summary="How does the author of this tweet feel about the weather? CrowdFlower.",
        **SNORKEL.files(
            "tutorials/crowdsourcing/data/weather-non-agg-DFE.csv",
            "tutorials/crowdsourcing/data/weather-evaluated-agg-DFE.csv",
        ),
        licence="Apache 2.0",
        convert=confirmed_tweets,
        tasks=1000,
        workers=102,
        labels=20000,
        classes=5,
        gold=632,
        n_features=0,
        checksums={
            "labels": "e1d9293d023df06c04ffd0405599d231576d49ef3cc3d24823db1f2966ccbd10",
            "gold": "00224ca90ce2379960fce3c0467ce4b3b307184c7e96dbdd108763c54e810fdd",
        },
    ),
    DataSet(
        name="web",
        summary="How relevant is this page to the query, from 1 to 5? Mechanical Turk.",
        **SPECTRAL.files("src/web_crowd.txt", "src/web_truth.txt"),
        licence="none stated",
        convert=rows_of_votes,
        tried=PART,
        tasks=2665,
        workers=177,
        labels=15567,
        classes=5,
        gold=2653,
        n_features=0,
        checksums={
            "labels": "91ea5b4ba99848aa078df04274cd5e5883459c443dce9115d94b9194e67483e0",
            "gold": "59757dd01c750e5f715ae2d6e84fc4d64869b4e7dedb37caa9b71d73bd080152",
        },
    ),
    DataSet(
        name="wsd",
        summary="Which of three senses has this word here? Mechanical Turk.",
        **SNOW.files("all_collected_data/wsd.standardized.tsv"),
        licence="none stated for the data (MIT for the repository)",
        convert=annotations_with_gold,
        tasks=177,
        workers=34,
        labels=1770,
        classes=3,
        gold=177,
        n_features=0,
        checksums={
            "labels": "7f6648b2f5229b6d1845c58ec9598c02544dbf43202254c13a30cf0de3c0a793",
            "gold": "b3791a3ccb9c7e9c6733464b3436ad3779459b767f385b4cad2c6709796a0b7a",
        },
    ),
)

CATALOGUE: Mapping[str, DataSet] = MappingProxyType({each.name: each for each in _DATA_SETS})
