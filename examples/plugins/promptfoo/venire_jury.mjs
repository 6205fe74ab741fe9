// One Python for all assertions of an evaluation: see docs/plugins/promptfoo.md.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const waiting = new Map();
const python = spawn(process.env.PROMPTFOO_PYTHON || "python", ["-m", "venire.evals.plugins.promptfoo"], {
  stdio: ["pipe", "pipe", "inherit"],
});
createInterface({ input: python.stdout }).on("line", (line) => {
  const { id, result } = JSON.parse(line);
  waiting.get(id).resolve(result);
  waiting.delete(id);
  if (waiting.size === 0) [python, python.stdin, python.stdout].forEach((part) => part.unref());
});
python.on("exit", (code) => waiting.forEach(({ reject }) => reject(new Error(`venire ended with ${code}`))));

export default (output, { vars, config, test }) =>
  new Promise((resolve, reject) => {
    const id = crypto.randomUUID();
    [python, python.stdin, python.stdout].forEach((part) => part.ref());
    waiting.set(id, { resolve, reject });
    python.stdin.write(`${JSON.stringify({ id, output, context: { vars, config, test } })}\n`);
  });
