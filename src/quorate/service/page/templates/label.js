"use strict";
(() => {
  const main = document.getElementById("label");
  const find = (id) => document.getElementById(id);
  const base = "/api/v1/projects/" + main.dataset.project;
  let worker = main.dataset.worker || sessionStorage.getItem("worker") || "";
  let task = null, busy = false, done = 0;
  const given = [];

  const ask = async (method, path, body) => {
    const how = { method, headers: { "Content-Type": "application/json" } };
    if (body) how.body = JSON.stringify(body);
    for (let tried = 0; ; tried++) {
      try {
        const answer = await fetch(base + path, how);
        const content = await answer.json();
        if (answer.ok) return content;
        if (![429, 503].includes(answer.status) || tried > 4) throw new Error(content.error);
      } catch (error) {
        if (!(error instanceof TypeError) || tried > 4) throw error;
      }
      await new Promise((wake) => setTimeout(wake, 300 * 2 ** tried));
    }
  };

  const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16)).join("");

  const show = (next) => {
    task = next;
    find("task").hidden = find("skip").hidden = !next;
    find("undo").hidden = !given.length;
    find("count").textContent = done ? done + (done === 1 ? " vote" : " votes") : "";
    if (!next) return;
    const payload = next.payload;
    const parts = payload && typeof payload === "object" ? payload : { text: payload };
    const text = parts.text ?? (parts.image ? "" : next.task);
    const rest = Object.entries(parts).filter(([name]) => name !== "text" && name !== "image");
    find("text").textContent = [text, ...rest.map(([n, v]) => n + ": " + (typeof v === "string" ? v : JSON.stringify(v)))].join("\n").trim();
    const image = /^(https:|data:image\/|\/)/.test(parts.image || "") ? parts.image : "";
    find("image").hidden = !image;
    if (image) { find("image").firstChild.src = image; find("image").firstChild.alt = String(text || next.task); }
  };

  const advance = async () => {
    const found = await ask("GET", "/next?worker=" + encodeURIComponent(worker));
    find("told").textContent = found.reason || "";
    show(found.tasks[0] || null);
  };

  const safely = async (work) => {
    if (busy) return;
    busy = true;
    for (const button of find("answers").children) button.disabled = true;
    try { await work(); } catch (error) { find("told").textContent = error.message; }
    busy = false;
    for (const button of find("answers").children) button.disabled = false;
  };

  const vote = (label) => task && safely(async () => {
    const votes = [{ task: task.task, worker, label }];
    await ask("POST", "/votes", { votes, key: key() });
    given.push(task); done++;
    await advance();
  });

  const undo = () => given.length && safely(async () => {
    const last = given.pop();
    await ask("POST", "/votes/withdraw", { votes: [{ task: last.task, worker }], key: key() });
    if (task) await ask("POST", "/release", { votes: [{ task: task.task, worker }] });
    done--;
    find("told").textContent = "";
    show(last);
  });

  const skip = () => task && safely(async () => {
    const skipped = task.task;
    const more = await ask("GET", "/next?n=2&worker=" + encodeURIComponent(worker));
    const other = more.tasks.find((one) => one.task !== skipped);
    await ask("POST", "/release", { votes: [{ task: skipped, worker }] });
    if (other) show(other); else find("told").textContent = "There is no other task now.";
  });

  const begin = () => safely(async () => {
    find("who").hidden = true;
    if (!main.dataset.worker) {
      sessionStorage.setItem("worker", worker);
      try { await ask("POST", "/workers", { workers: [{ worker }] }); } catch (error) { /* a worker's token may not add workers */ }
    }
    await advance();
  });

  find("answers").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) vote(button.dataset.label);
  });
  find("undo").addEventListener("click", undo);
  find("skip").addEventListener("click", skip);
  find("who").addEventListener("submit", (event) => {
    event.preventDefault();
    worker = find("who").elements.worker.value.trim();
    if (worker) begin();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = find("answers").children[Number(event.key) - 1];
    if (/^[1-9]$/.test(event.key) && button) vote(button.dataset.label);
    else if (event.key === "u") undo();
    else if (event.key === "s") skip();
  });
  if (worker) begin(); else find("who").hidden = false;
})();
