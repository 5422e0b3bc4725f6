-- A cloud file system, as its story tells it: the latest version of a file is found by its number, among those that are not deleted.
CREATE TABLE tenants (
  tenant_id INT UNSIGNED NOT NULL,
  name VARCHAR(100) NOT NULL,
  PRIMARY KEY (tenant_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE folders (
  folder_id BIGINT UNSIGNED NOT NULL,
  tenant_id INT UNSIGNED NOT NULL,
  parent_id BIGINT UNSIGNED NULL,
  path VARCHAR(700) NOT NULL,
  PRIMARY KEY (folder_id),
  KEY tenant_id (tenant_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE files (
  file_id BIGINT UNSIGNED NOT NULL,
  tenant_id INT UNSIGNED NOT NULL,
  folder_id BIGINT UNSIGNED NOT NULL,
  name VARCHAR(255) NOT NULL,
  created DATETIME(6) NOT NULL,
  PRIMARY KEY (file_id),
  KEY tenant_id (tenant_id, file_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE versions (
  version_id BIGINT UNSIGNED NOT NULL,
  tenant_id INT UNSIGNED NOT NULL,
  file_id BIGINT UNSIGNED NOT NULL,
  version_no INT UNSIGNED NOT NULL,
  size BIGINT UNSIGNED NOT NULL,
  hash BINARY(32) NOT NULL,
  author INT UNSIGNED NOT NULL,
  made DATETIME(6) NOT NULL,
  deleted_at DATETIME(6) NULL,
  PRIMARY KEY (version_id),
  UNIQUE KEY file_id (file_id, version_no),
  KEY tenant_id (tenant_id, file_id, version_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
