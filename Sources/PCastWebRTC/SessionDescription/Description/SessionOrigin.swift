/// The `o=` line: who made a description, and which version of it this is (RFC 8866, section 5.2).
public struct SessionOrigin: Hashable, Sendable {
    /// `-` when there is none.
    public var username: String
    /// The same in every version of the description.
    public var sessionID: UInt64
    /// Rises with every change.
    public var sessionVersion: UInt64

    /// `sessionID` is random for each session (RFC 8829, section 5.2.1: at most 63 bits).
    public init(username: String = "-", sessionID: UInt64, sessionVersion: UInt64 = 1) {
        self.username = username
        self.sessionID = sessionID
        self.sessionVersion = sessionVersion
    }

    /// Peers write identifiers of any size there, so what is not a number is read as 0.
    init(parsing text: SDPText) {
        let fields = text.pieces()
        username = fields.first?.string ?? "-"
        sessionID = fields.count > 1 ? fields[1].decimal() ?? 0 : 0
        sessionVersion = fields.count > 2 ? fields[2].decimal() ?? 0 : 0
    }

    var text: String { "\(username) \(sessionID) \(sessionVersion) IN IP4 127.0.0.1" }
}
