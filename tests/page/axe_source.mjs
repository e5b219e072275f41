// Prints the source of axe-core, for a tab to evaluate.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

process.stdout.write(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js")));
