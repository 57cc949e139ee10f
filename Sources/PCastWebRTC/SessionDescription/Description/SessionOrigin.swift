/// The `o=` line: the identity of a description and its version (RFC 8866, section 5.2).
public struct SessionOrigin: Hashable, Sendable {
    /// The user name; `-` for none.
    public var username: String
    /// The session ID, which is the same in all versions of a description.
    public var sessionID: UInt64
    /// The version, which increases with each change.
    public var sessionVersion: UInt64

    /// Creates an origin. `sessionID` is a random number for each session, below 2^63 (RFC 8829, section 5.2.1).
    public init(username: String = "-", sessionID: UInt64, sessionVersion: UInt64 = 1) {
        self.username = username
        self.sessionID = sessionID
        self.sessionVersion = sessionVersion
    }

    /// Parses the value of the line. Numbers that cannot be read become 0, because some peers write larger ones.
    init(parsing text: SDPText) {
        let fields = text.pieces()
        username = fields.first?.string ?? "-"
        sessionID = fields.count > 1 ? fields[1].decimal() ?? 0 : 0
        sessionVersion = fields.count > 2 ? fields[2].decimal() ?? 0 : 0
    }

    /// The value of the line.
    var text: String { "\(username) \(sessionID) \(sessionVersion) IN IP4 127.0.0.1" }
}
