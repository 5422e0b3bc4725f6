import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;

/** Prints every change of a database of a MariaDB server as a line of JSON, by Debezium's embedded engine: HOST PORT USER PASSWORD DATABASE DIRECTORY. */
public final class Lines {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.setProperty("name", "lines");
        p.setProperty("connector.class", "io.debezium.connector.mariadb.MariaDbConnector");
        p.setProperty("database.hostname", args[0]);
        p.setProperty("database.port", args[1]);
        p.setProperty("database.user", args[2]);
        p.setProperty("database.password", args[3]);
        p.setProperty("database.include.list", args[4]);
        p.setProperty("database.server.id", "990002");
        p.setProperty("database.ssl.mode", "disable");
        p.setProperty("topic.prefix", "bench");
        p.setProperty("snapshot.mode", "no_data");
        p.setProperty("include.schema.changes", "false");
        // Its position is kept as often as ours. It looks for new records every ten milliseconds, not every half second as it does by itself.
        p.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        p.setProperty("offset.storage.file.filename", args[5] + "/offsets");
        p.setProperty("offset.flush.interval.ms", "250");
        p.setProperty("poll.interval.ms", args.length > 6 ? args[6] : "10");
        p.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
        p.setProperty("schema.history.internal.file.filename", args[5] + "/history");
        p.setProperty("key.converter.schemas.enable", "false");
        p.setProperty("value.converter.schemas.enable", "false");

        OutputStream out = new BufferedOutputStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), 64 << 10);
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class).using(p).notifying(
                (List<ChangeEvent<String, String>> records, DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer) -> {
                    try {
                        for (ChangeEvent<String, String> r : records) {
                            if (r.value() != null) {
                                out.write(r.value().getBytes(StandardCharsets.UTF_8));
                                out.write('\n');
                            }
                            committer.markProcessed(r);
                        }
                        out.flush();
                        committer.markBatchFinished();
                    } catch (IOException e) {
                        System.exit(1); // nobody reads any more
                    }
                }).using((success, message, error) -> {
                    System.err.println(message);
                    System.exit(success ? 0 : 1);
                }).build();
        engine.run();
    }
}
