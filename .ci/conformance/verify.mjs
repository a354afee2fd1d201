// Checks that the scenarios which need no fixture of the suite were run and
// passed. The suite alone would also be content with a scenario that it skipped,
// that ended early, or that it does not score.
//
//   node verify.mjs REVISION RESULTS

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// How many checks must pass at least, by scenario. All others may not fail; a
// pair says how many may.
const required = {
  "2025-11-25": {
    "server-initialize": 3,
    "server-session-lifecycle": 1,
    "logging-set-level": 2,
    ping: 2,
    "tools-list": 2,
    "prompts-list": 2,
    "resources-list": 2,
    "resources-subscribe": 2,
    "resources-unsubscribe": 2,
    "server-sse-multiple-streams": 1,
    // Only remarks, no checks: without the tool test_reconnection the suite gets
    // an error as JSON, and its checks are about replies in event streams.
    "server-sse-polling": 0,
    "dns-rebinding-protection": 2,
  },
  "2026-07-28": {
    // The four that fail want the tools test_missing_capability,
    // test_streaming_elicitation and test_logging_tool.
    "server-stateless": [24, 4],
    "tools-list": 2,
    "prompts-list": 2,
    "resources-list": 2,
    "server-sse-multiple-streams": 1,
    "sep-2164-resource-not-found": 4,
    "dns-rebinding-protection": 2,
    caching: 8,
    // Not scored by the suite, so that only the check here keeps it.
    "http-header-validation": 14,
    "input-required-result-missing-input-response": 1,
    "input-required-result-unsupported-methods": 2,
    "input-required-result-ignore-extra-params": 1,
    "input-required-result-validate-input": 3,
  },
};

const [revision, results] = process.argv.slice(2);
const scenarios = Object.entries(required[revision]);

// A result is the folder server-SCENARIO-TIME with checks.json.
const folders = new Map(
  readdirSync(results).map((folder) => [folder.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, ""), folder]),
);

const problems = scenarios.flatMap(([scenario, counts]) => {
  const [passes, failures] = [counts, 0].flat();
  const folder = folders.get(scenario);
  if (folder === undefined) {
    return [`${scenario} was not run`];
  }
  const checks = JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8"));
  const count = (status) => checks.filter((check) => check.status === status).length;
  if (checks.length > 0 && count("SUCCESS") >= passes && count("FAILURE") <= failures) {
    return [];
  }
  const failed = checks.filter((check) => check.status === "FAILURE").map((check) => `\n    ${check.id}: ${check.errorMessage ?? check.description}`);
  return [`${scenario}: ${count("SUCCESS")} of at least ${passes} checks passed, ${count("FAILURE")} of at most ${failures} failed${failed.join("")}`];
});

if (problems.length > 0) {
  console.error(`${revision}: ${problems.length} of ${scenarios.length} scenarios that need no fixture did not pass:\n  ${problems.join("\n  ")}`);
  process.exit(1);
}
console.log(`${revision}: all ${scenarios.length} scenarios that need no fixture were run and passed.`);
