internal import GRDB

/// The schema and its migrations. A released migration never changes; a new one is added instead. Times are UTC in
/// milliseconds since 1970.
enum Schema {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1: applications, streams, sessions, notifications") { db in
            try db.execute(sql: first)
        }
        migrator.registerMigration("streams by publisher") { db in
            try db.execute(sql: "ALTER TABLE stream ADD COLUMN publisher TEXT")
        }
        migrator.registerMigration("sessions by owner") { db in
            try db.execute(sql: "ALTER TABLE session ADD COLUMN owner TEXT")
        }
        migrator.registerMigration("recordings") { db in try db.execute(sql: recordings) }
        migrator.registerMigration("stream keys") { db in try db.execute(sql: streamKeys) }
        migrator.registerMigration("uploads") { db in try db.execute(sql: uploads) }
        migrator.registerMigration("rooms") { db in try db.execute(sql: rooms) }
        migrator.registerMigration("limits of stream keys") { db in
            for column in ["bitrateLimit", "widthLimit", "heightLimit", "connectionLimit"] {
                try db.execute(sql: "ALTER TABLE streamKey ADD COLUMN \(column) INTEGER")
            }
        }
        migrator.registerMigration("named streams") { db in try db.execute(sql: namedStreams) }
        migrator.registerMigration("administration") { db in try db.execute(sql: administration) }
        migrator.registerMigration("conversations of rooms") { db in try db.execute(sql: conversations) }
        migrator.registerMigration("revoked tokens") { db in
            try db.execute(
                sql: """
                    CREATE TABLE tokenRevocation (token TEXT PRIMARY KEY NOT NULL, expires INTEGER NOT NULL)
                        STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("values of a cluster") { db in try db.execute(sql: clusterValues) }
        return migrator
    }()

    private static let first = """
        CREATE TABLE application (
            id TEXT PRIMARY KEY NOT NULL, secret BLOB NOT NULL, isActive INTEGER NOT NULL, created INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE session (
            id TEXT PRIMARY KEY NOT NULL, application TEXT NOT NULL, opened INTEGER NOT NULL, ended INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX session_open ON session(application) WHERE ended IS NULL;

        CREATE TABLE stream (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, application TEXT NOT NULL,
            session TEXT, tags TEXT NOT NULL, capabilities TEXT NOT NULL, starting INTEGER NOT NULL, started INTEGER,
            ended INTEGER, reason TEXT, views INTEGER NOT NULL, mostViewers INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX stream_of_application ON stream(application, number);
        CREATE INDEX stream_open ON stream(number) WHERE ended IS NULL;
        CREATE INDEX stream_ended ON stream(ended) WHERE ended IS NOT NULL;

        CREATE TABLE viewing (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, stream TEXT NOT NULL,
            application TEXT NOT NULL, session TEXT, tags TEXT NOT NULL, began INTEGER NOT NULL, ended INTEGER, reason TEXT
        ) STRICT;
        CREATE INDEX viewing_of_application ON viewing(application, number);
        CREATE INDEX viewing_open ON viewing(stream) WHERE ended IS NULL;
        CREATE INDEX viewing_ended ON viewing(ended) WHERE ended IS NOT NULL;

        CREATE TABLE callback (
            number INTEGER PRIMARY KEY AUTOINCREMENT, application TEXT NOT NULL, name TEXT NOT NULL, uri TEXT NOT NULL,
            method TEXT NOT NULL, secret BLOB NOT NULL, UNIQUE (application, name)
        ) STRICT;

        CREATE TABLE notification (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, application TEXT NOT NULL,
            stream TEXT NOT NULL, what TEXT NOT NULL, body BLOB NOT NULL, time INTEGER NOT NULL, UNIQUE (stream, what)
        ) STRICT;
        CREATE INDEX notification_of_application ON notification(application, number);

        CREATE TABLE delivery (
            notification INTEGER NOT NULL REFERENCES notification(number) ON DELETE CASCADE,
            callback INTEGER NOT NULL REFERENCES callback(number) ON DELETE CASCADE,
            stream TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL, due INTEGER NOT NULL,
            answer TEXT, PRIMARY KEY (notification, callback)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX delivery_pending ON delivery(callback, stream, notification) WHERE state = 'pending';
        CREATE INDEX delivery_due ON delivery(due) WHERE state = 'pending';

        CREATE TABLE life (one INTEGER PRIMARY KEY NOT NULL, seen INTEGER NOT NULL) STRICT;
        """

    private static let streamKeys = """
        CREATE TABLE streamKey (
            number INTEGER PRIMARY KEY AUTOINCREMENT, application TEXT NOT NULL, name TEXT NOT NULL,
            fingerprint BLOB NOT NULL UNIQUE, secret BLOB NOT NULL, tags TEXT NOT NULL, capabilities TEXT NOT NULL,
            created INTEGER NOT NULL, rotated INTEGER, UNIQUE (application, name)
        ) STRICT;
        """

    /// The declarations of named streams, which are encrypted because their addresses may contain passwords, and
    /// notifications about names. A name may have several events of a kind, so their uniqueness is that of streams only.
    private static let namedStreams = """
        CREATE TABLE declaration (
            name TEXT PRIMARY KEY NOT NULL, application TEXT NOT NULL, body BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE newNotification (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, application TEXT NOT NULL,
            stream TEXT NOT NULL, name TEXT, what TEXT NOT NULL, body BLOB NOT NULL, time INTEGER NOT NULL
        ) STRICT;
        INSERT INTO newNotification (number, id, application, stream, what, body, time)
            SELECT number, id, application, stream, what, body, time FROM notification;
        DROP TABLE notification;
        ALTER TABLE newNotification RENAME TO notification;
        CREATE UNIQUE INDEX notification_of_stream ON notification(stream, what) WHERE name IS NULL;
        CREATE INDEX notification_of_application ON notification(application, number);
        """

    /// The applications and limits that the management API has set, in addition to the configuration.
    private static let administration = """
        ALTER TABLE application ADD COLUMN isAdded INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE platformLimit (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// The versions of the values that all nodes of a cluster have, also of deleted ones. A change of a value marks its
    /// version as pending, in the same transaction.
    private static let clusterValues: String = {
        let triggers = [
            ("application", "'application'", "id", "'-'", " WHEN NEW.isAdded = 1", " WHEN OLD.isAdded = 1"),
            ("streamKey", "'key'", "application", "name", "", ""),
            ("callback", "'webhook'", "application", "name", "", ""),
        ].flatMap { table, kind, application, name, isNewIncluded, isOldIncluded in
            [("INSERT", "NEW", isNewIncluded), ("UPDATE", "NEW", isNewIncluded), ("DELETE", "OLD", isOldIncluded)].map {
                change, row, condition in
                let column = { (name: String) in name.hasPrefix("'") ? name : "\(row).\(name)" }
                return """
                    CREATE TRIGGER \(table)_\(change) AFTER \(change) ON \(table)\(condition) BEGIN
                        INSERT INTO clusterValue (kind, application, name, number, claim, isPending)
                        VALUES (\(kind), \(column(application)), \(column(name)), 0, 0, 1)
                        ON CONFLICT (kind, application, name) DO UPDATE SET isPending = 1;
                    END;
                    """
            }
        }
        return """
            CREATE TABLE clusterValue (
                kind TEXT NOT NULL, application TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
                claim INTEGER NOT NULL, isPending INTEGER NOT NULL, PRIMARY KEY (kind, application, name)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX clusterValue_pending ON clusterValue(kind) WHERE isPending = 1;
            INSERT INTO clusterValue SELECT 'application', id, '-', 0, 0, 1 FROM application WHERE isAdded = 1;
            INSERT INTO clusterValue SELECT 'key', application, name, 0, 0, 1 FROM streamKey;
            INSERT INTO clusterValue SELECT 'webhook', application, name, 0, 0, 1 FROM callback;

            """ + triggers.joined(separator: "\n")
    }()

    /// Times of segments are in nanoseconds. `offset` and `length` are those of a range in a file.
    private static let recordings = """
        CREATE TABLE recording (
            number INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL UNIQUE, application TEXT NOT NULL,
            began INTEGER NOT NULL, ended INTEGER, failure TEXT, deleted INTEGER, epochs INTEGER NOT NULL,
            signingKey BLOB
        ) STRICT;
        CREATE INDEX recording_of_application ON recording(application, number);

        CREATE TABLE recordedRendition (
            stream TEXT NOT NULL, epoch INTEGER NOT NULL, name TEXT NOT NULL, instance TEXT NOT NULL,
            codec TEXT NOT NULL, width INTEGER, height INTEGER, frameRate REAL, channels INTEGER,
            PRIMARY KEY (stream, epoch, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE segment (
            stream TEXT NOT NULL, epoch INTEGER NOT NULL, rendition TEXT NOT NULL, number INTEGER NOT NULL,
            file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, start INTEGER NOT NULL,
            duration INTEGER NOT NULL, initialization INTEGER NOT NULL, discontinuity INTEGER NOT NULL,
            isGap INTEGER NOT NULL, PRIMARY KEY (stream, epoch, rendition, number)
        ) STRICT, WITHOUT ROWID;
        """

    private static let rooms = """
        CREATE TABLE room (
            id TEXT PRIMARY KEY NOT NULL, application TEXT NOT NULL, alias TEXT NOT NULL, name TEXT NOT NULL,
            description TEXT NOT NULL, type TEXT NOT NULL, options TEXT NOT NULL, UNIQUE (application, alias)
        ) STRICT, WITHOUT ROWID;
        """

    /// Identifiers of messages grow with time, so the key is their order. Texts are UTF-8, and may contain NUL.
    private static let conversations = """
        CREATE TABLE roomMessage (
            room TEXT NOT NULL, id TEXT NOT NULL, time INTEGER NOT NULL, session TEXT, screenName BLOB NOT NULL,
            role INTEGER NOT NULL, lastUpdate INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (room, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX roomMessage_time ON roomMessage(time);
        """

    /// The outbox of uploads of recordings. `parts` is a list of the entity tags of uploaded parts.
    private static let uploads = """
        CREATE TABLE upload (
            stream TEXT NOT NULL, epoch INTEGER NOT NULL, rendition TEXT NOT NULL, file INTEGER NOT NULL,
            size INTEGER NOT NULL, bucket TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL,
            isLocal INTEGER NOT NULL, attempts INTEGER NOT NULL, due INTEGER NOT NULL, answer TEXT, multipartID TEXT,
            parts TEXT NOT NULL, PRIMARY KEY (stream, epoch, rendition, file)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX upload_due ON upload(due) WHERE state IN ('pending', 'deleting');
        CREATE INDEX upload_local ON upload(stream) WHERE state = 'uploaded' AND isLocal = 1;
        """
}
