// A model that repeats the question, and fails on one.
module.exports = class {
  constructor(options) {
    this.label = options.label;
  }

  id() {
    return this.label;
  }

  async callApi(prompt) {
    return prompt.includes('fails') ? { error: 'no answer' } : { output: prompt };
  }
};
