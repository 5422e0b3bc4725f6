package files

// Columns adds the carried columns by hand, as `stowage reshape` does by the example's spec. The measurement and the tests of the
// judge need them without Stowage.
const Columns = `ALTER TABLE files
  ADD latest_version_id BIGINT UNSIGNED NULL, ADD latest_version_no INT UNSIGNED NULL,
  ADD latest_size BIGINT UNSIGNED NULL, ADD latest_hash BINARY(32) NULL,
  ADD KEY latest_by_tenant (tenant_id, latest_version_id)`

// FillIn fills them in by one multi-table UPDATE: the way without Stowage, which holds a lock on every file until it ends. It looks
// for the latest version of one file after the other. Grouping all versions first took 17 times as long where they do not fit
// into the pool: each deleted_at is read from the row, in the order of the index and not of the rows.
const FillIn = `UPDATE files
LEFT JOIN versions ON versions.version_id =
  (SELECT v.version_id FROM versions AS v WHERE v.file_id = files.file_id AND v.deleted_at IS NULL ORDER BY v.version_no DESC LIMIT 1)
SET files.latest_version_id = versions.version_id, files.latest_version_no = versions.version_no,
  files.latest_size = versions.size, files.latest_hash = versions.hash`
