-- Normalised: for each file of the tenant the first of its versions, counted from the end.
SELECT folders.path, files.name, files.file_id, versions.size, versions.hash
FROM files
JOIN folders ON folders.folder_id = files.folder_id
JOIN versions ON versions.version_id =
  (SELECT v.version_id FROM versions AS v WHERE v.file_id = files.file_id AND v.deleted_at IS NULL ORDER BY v.version_no DESC LIMIT 1)
WHERE files.tenant_id = ?
