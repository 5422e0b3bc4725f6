-- Normalised: the highest number of each file, found by grouping the tenant's versions.
SELECT folders.path, files.name, files.file_id, versions.size, versions.hash
FROM (SELECT file_id, MAX(version_no) AS version_no FROM versions WHERE tenant_id = ? AND deleted_at IS NULL GROUP BY file_id) AS latest
JOIN versions ON versions.file_id = latest.file_id AND versions.version_no = latest.version_no
JOIN files ON files.file_id = latest.file_id
JOIN folders ON folders.folder_id = files.folder_id
