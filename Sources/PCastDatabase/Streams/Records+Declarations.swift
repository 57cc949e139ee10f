import Foundation
internal import GRDB
package import PCastCore

extension Records {
    /// Returns the declarations of named streams that the management API has made, ordered by name.
    ///
    /// - Throws: ``RecordsError``, also if a declaration was encrypted with another key.
    package func declarations() async throws(RecordsError) -> [DeclarationRecord] {
        try await read { [key, path] db in
            try Row.fetchAll(db, sql: "SELECT * FROM declaration ORDER BY name").map { row in
                let application = ApplicationID(row["application"])
                let name: String = row["name"]
                guard let body = key.open(Array(row["body"] as Data), for: Self.context(name, application)) else {
                    throw RecordsError.key(path: path, reason: "it is another key")
                }
                return DeclarationRecord(application: application, name: name, body: body)
            }
        }
    }

    /// Stores a declaration in place of the one with the same name.
    ///
    /// - Throws: ``RecordsError``.
    package func setDeclaration(_ declaration: DeclarationRecord) async throws(RecordsError) {
        let sealed = Data(key.seal(declaration.body, for: Self.context(declaration.name, declaration.application)))
        try await write { db in
            try db.execute(
                sql: """
                    INSERT INTO declaration (name, application, body) VALUES (?, ?, ?)
                    ON CONFLICT (name) DO UPDATE SET application = excluded.application, body = excluded.body
                    """, arguments: [declaration.name, declaration.application.description, sealed])
        }
    }

    /// Deletes a declaration.
    ///
    /// - Throws: ``RecordsError``.
    package func removeDeclaration(_ name: String) async throws(RecordsError) {
        try await write { db in try db.execute(sql: "DELETE FROM declaration WHERE name = ?", arguments: [name]) }
    }

    private static func context(_ name: String, _ application: ApplicationID) -> String {
        context("\(application)\(DeclarationRecord.contextMark)\(name)")
    }
}

/// A stored declaration of a named stream.
package struct DeclarationRecord: Sendable, Hashable {
    /// The application.
    package var application: ApplicationID
    /// The name.
    package var name: String
    /// The declaration as JSON, which is encrypted because its addresses may contain passwords.
    package var body: [UInt8]

    /// The text between the application and the name in the context of the encryption.
    static let contextMark = " declaration "

    /// Creates a record.
    package init(application: ApplicationID, name: String, body: [UInt8]) {
        self.application = application
        self.name = name
        self.body = body
    }
}
