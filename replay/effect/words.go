package effect

import (
	"strings"
	"sync"
)

// wordSet is a set of words, written as a text of words.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// words are the tables by which statements are judged. They are made once, by
// newWords, and only read.
type words struct {
	effects, known, beforeParen, writing, lifting, charsets, clock, random, own map[string]bool
	serverShows, systemSchemas                                                  map[string]bool
}

var vocabulary = sync.OnceValue(newWords)

func newWords() *words {
	return &words{
		// Functions that do something: wait, lock, count up.
		effects: wordSet(`get_lock release_lock release_all_locks sleep benchmark nextval setval master_pos_wait
			master_gtid_wait source_pos_wait wait_for_executed_gtid_set wait_until_sql_thread_after_gtids
			wsrep_sync_wait_upto_gtid`),

		// Functions of MariaDB 10.11 (information_schema.SQL_FUNCTIONS, and those its grammar knows) and MySQL 8.4
		// (manual, "Built-In Function and Operator Reference"). Any other is one that somebody made.
		known: wordSet(`abs acos adddate addtime add_months aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin
			bin_to_uuid binlog_gtid_pos bit_and bit_count bit_length bit_or bit_xor cast ceil ceiling char character_length
			char_length charset chr coalesce coercibility collation column_add column_check column_create column_delete
			column_exists column_get column_json column_list compress concat concat_ws connection_id contains conv convert
			convert_tz cos cot count crc32 crc32c cume_dist curdate current_date current_role current_time
			current_timestamp current_user curtime database date date_add date_format date_sub datediff day dayname
			dayofmonth dayofweek dayofyear decode decode_histogram default degrees dense_rank des_decrypt des_encrypt elt
			encode encrypt exp export_set extract extractvalue field find_in_set first_value floor format format_bytes
			format_pico_time found_rows from_base64 from_days from_unixtime get_format greatest group_concat grouping
			gtid_subset gtid_subtract hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr interval
			is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock is_uuid isnull json_array
			json_array_append json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth
			json_detailed json_equals json_exists json_extract json_insert json_keys json_length json_loose json_merge
			json_merge_patch json_merge_preserve json_normalize json_object json_objectagg json_overlaps json_pretty
			json_query json_quote json_remove json_replace json_schema_valid json_schema_validation_report json_search
			json_set json_storage_free json_storage_size json_table json_type json_unquote json_valid json_value lag
			last_day last_insert_id last_value lastval lcase lead least left length lengthb ln localtime localtimestamp
			locate log log10 log2 lower lpad ltrim make_set makedate maketime max md5 median microsecond mid min minute mod
			month monthname name_const natural_sort_key now nth_value ntile nullif nvl nvl2 oct octet_length old_password
			ord password percent_rank percentile_cont percentile_disc period_add period_diff pi position pow power quarter
			quote radians rand random_bytes rank regexp_instr regexp_like regexp_replace regexp_substr repeat replace
			reverse right round row row_count row_number rownum rpad rtrim schema sec_to_time second session_user sformat
			sha sha1 sha2 sign sin soundex space sqrt statement_digest statement_digest_text std stddev stddev_pop
			stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum sys_guid sysdate
			system_user tan time time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_char
			to_days to_seconds trim trim_oracle truncate ucase uncompress uncompressed_length unhex unix_timestamp
			updatexml upper user utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin validate_password_strength
			var_pop var_samp variance version week weekday weekofyear weight_string year yearweek
			area astext asbinary aswkb aswkt boundary buffer centroid dimension disjoint distance endpoint envelope equals
			exteriorring geomcollfromtext geomcollfromwkb geometrycollection geometryn geometrytype geomfromtext
			geomfromwkb glength interiorringn intersects isclosed isempty isring issimple linefromtext linefromwkb
			linestring linestringfromtext mbrcontains mbrcoveredby mbrcovers mbrdisjoint mbrequal mbrequals mbrintersects
			mbroverlaps mbrtouches mbrwithin mpointfromtext multilinestring multipoint multipolygon numgeometries
			numinteriorrings numpoints overlaps point pointfromtext pointfromwkb pointn polyfromtext polyfromwkb polygon
			polygonfromtext srid startpoint touches within crosses
			st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_boundary st_buffer st_buffer_strategy
			st_centroid st_collect st_contains st_convexhull st_crosses st_difference st_dimension st_disjoint st_distance
			st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring st_geohash st_geomcollfromtext
			st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext st_geomfromwkb st_interiorringn
			st_intersection st_intersects st_isclosed st_isempty st_isring st_issimple st_isvalid st_latfromgeohash
			st_latitude st_length st_linefromtext st_longfromgeohash st_longitude st_makeenvelope st_numgeometries
			st_numinteriorrings st_numpoints st_overlaps st_perimeter st_pointfromgeohash st_pointfromtext
			st_pointn st_pointonsurface st_polyfromtext st_relate st_simplify st_srid st_startpoint st_swapxy
			st_symdifference st_touches st_transform st_union st_validate st_within st_x st_y`),

		// Words of the grammar behind which a parenthesis opens no call: reserved words and types.
		beforeParen: wordSet(`select from where and or xor not in on using having by when then else case all exists join
			straight_join like rlike regexp div between as distinct distinctrow union intersect except values value limit
			is binary index key partition over set return match against group varchar varbinary decimal dec numeric float
			double real int integer bigint smallint tinyint mediumint character inner outer cross natural unique primary
			check references foreign explain describe desc analyze table lateral with recursive`),

		// Reserved words that only stand in statements that change something. A
		// name cannot be one of them without quotes.
		writing: wordSet(`insert update delete replace drop alter create grant revoke load call rename lock trigger
			signal resignal purge undo kill`),

		// Session variables that are the server's or the replay's business.
		lifting: wordSet(`tx_read_only transaction_read_only sql_log_bin sql_log_off binlog_format binlog_row_image server_id
			gtid_domain_id gtid_seq_no gtid_next gtid_binlog_state gtid_slave_pos pseudo_thread_id pseudo_slave_mode
			pseudo_replica_mode skip_replication read_only super_read_only wsrep_on wsrep_osu_method debug debug_dbug
			debug_sync proxy_user default_master_connection slow_query_log log_slow_query session_track_schema`),

		// Character sets in which the second byte of a letter may be a backslash
		// or a quote: text in them is not read as we read it.
		charsets: wordSet(`big5 cp932 gbk gb18030 sjis gb2312 euckr ucs2 utf16 utf16le utf32 eucjpms ujis`),

		clock: wordSet(`now sysdate curdate curtime current_date current_time current_timestamp localtime localtimestamp
			utc_date utc_time utc_timestamp`),
		random: wordSet(`rand uuid uuid_short sys_guid random_bytes`),
		own: wordSet(`connection_id last_insert_id found_rows row_count user current_user session_user system_user
			current_role version is_used_lock is_free_lock lastval load_file`),

		serverShows: wordSet(`processlist status engine engines slave slaves replica replicas replicas master binary binlog relaylog
			grants profile profiles plugins privileges open mutex explain analyze session global all errors user
			users authors contributors package function procedure locales events parse_tree client_statistics
			index_statistics user_statistics table_statistics wsrep_membership wsrep_status`),
		systemSchemas: wordSet(`information_schema performance_schema mysql sys`),
	}
}
