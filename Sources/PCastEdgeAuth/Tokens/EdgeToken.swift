public import PCastJSON
public import PCastMedia

/// What an EdgeAuth token says: whom it lets do what, and until when.
public struct EdgeToken: Hashable, Sendable {
    /// What a token is good for; without a kind, authenticating and viewing.
    public enum Kind: String, Hashable, Sendable {
        case authentication = "auth"
        case streaming = "stream"
        case publishing = "publish"
    }

    /// The application that signed it; nil before it was verified.
    public var applicationID: String?
    /// The moment from which on it is worth nothing.
    public var expires: WallTime
    /// The address of the platform.
    public var uri: String?
    public var kind: Kind?
    /// Granted to streams, see ``TokenRequest/capabilities``.
    public var capabilities: [String] = []
    /// The only session that may use it.
    public var sessionID: String?
    /// The only address that may use it, as the signer wrote it.
    public var remoteAddress: String?
    /// The only stream that may be viewed with it.
    public var originStreamID: String?
    /// A tag that the viewed stream must carry.
    public var requiredTag: String?
    /// Tags that a stream made with it carries from then on.
    public var applyTags: [String] = []

    public init(expires: WallTime) { self.expires = expires }

    /// Reads the body of a token. Nil when `expires` is missing or any known field is not of its type: a restriction
    /// that cannot be understood must not be passed over. Unknown fields are.
    public init?(_ body: JSONObject) {
        guard let milliseconds = body["expires"]?.number else { return nil }
        expires = Self.wallTime(milliseconds: milliseconds)
        do throws(FieldError) {
            applicationID = try body.string("applicationId")
            uri = try body.string("uri")
            sessionID = try body.string("sessionId")
            remoteAddress = try body.string("remoteAddress")
            originStreamID = try body.string("originStreamId")
            requiredTag = try body.string("requiredTag")
            capabilities = try body.strings("capabilities")
            applyTags = try body.strings("applyTags")
            kind = try body.string("type").map { (name) throws(FieldError) in
                guard let kind = Kind(rawValue: name) else { throw FieldError() }
                return kind
            }
        } catch {
            return nil
        }
    }

    /// Held within what `WallTime` can tell (the years 1678 to 2262).
    private static func wallTime(milliseconds: Double) -> WallTime {
        let limit = 9.2e12
        return WallTime(millisecondsSinceEpoch: Int64(min(max(milliseconds, -limit), limit)))
    }
}

private struct FieldError: Error {}

extension JSONObject {
    fileprivate func string(_ name: String) throws(FieldError) -> String? {
        switch self[name] {
        case nil: return nil
        case .string(let string): return string
        default: throw FieldError()
        }
    }

    fileprivate func strings(_ name: String) throws(FieldError) -> [String] {
        switch self[name] {
        case nil: return []
        case .array(let values):
            var strings: [String] = []
            for value in values {
                guard case .string(let string) = value else { throw FieldError() }
                strings.append(string)
            }
            return strings
        default: throw FieldError()
        }
    }
}
