// The effects of a command: which batches of the change feed have carried its writes on.

/// Follows the writes of a command through the projections. A batch of a projection has a write when it ends after
/// the command began and reaches the position of the write in the same container; what the batch writes itself goes
/// on in the same way. `waiting` are the projections without such a batch. Positions of several physical partitions
/// of one container are not told apart.
export function effects(command, records, projections) {
  const began = Date.parse(command.endedAt) - command.durationMs - 1;
  const all = records.filter((one) => one.batch && !one.batch.failed && Date.parse(one.endedAt) >= began);
  const batches = new Set();
  const waiting = new Set();
  const open = [...command.written];
  for (const { container, lsn } of open) {
    for (const { name } of projections.filter((one) => one.container === container)) {
      const batch = all.find((one) => one.function === name && one.batch.container === container && one.batch.lsn >= lsn);
      if (!batch) waiting.add(name);
      else if (!batches.has(batch)) {
        batches.add(batch);
        open.push(...batch.written);
      }
    }
  }
  const ended = Math.max(0, ...[...batches].map((one) => Date.parse(one.endedAt)));
  const settledMs = Math.max(0, ended - Date.parse(command.endedAt));
  return { batches: [...batches], waiting: [...waiting], settledMs };
}
