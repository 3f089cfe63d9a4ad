// A judge that gives the verdicts that were entered, or says something else where there is none.
module.exports = class {
  constructor(options) {
    this.config = options.config;
  }

  id() {
    return this.config.name;
  }

  async callApi(prompt) {
    const verdict = this.config.verdicts[prompt.match(/\d \+ \d/)[0]];
    if (verdict === undefined) return { output: 'I cannot say.' };
    return { output: JSON.stringify({ pass: verdict, score: verdict ? 1 : 0, reason: 'seen' }) };
  }
};
