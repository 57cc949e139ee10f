public import PCastCore
public import PCastJSON

/// The body of an EdgeAuth token: the operations that it allows, its restrictions, and its expiration.
public struct EdgeToken: Hashable, Sendable {
    /// The operations that a token allows. A token without a kind allows authenticating and subscribing.
    public enum Kind: String, Hashable, Sendable {
        /// Only authenticating.
        case authentication = "auth"
        /// Only subscribing.
        case streaming = "stream"
        /// Only publishing.
        case publishing = "publish"
    }

    /// The application that signed the token; nil before verification.
    public var applicationID: String?
    /// The time from which on the token is invalid.
    public var expires: WallTime
    /// The URI of the platform; nil if it is not specified.
    public var uri: String?
    /// The operations that the token allows; nil for authenticating and subscribing.
    public var kind: Kind?
    /// The capabilities that the token grants to streams (see ``TokenRequest/capabilities``).
    public var capabilities: [String] = []
    /// The only session that may use the token; nil for any.
    public var sessionID: String?
    /// The only IP address that may use the token, as text; nil for any.
    public var remoteAddress: String?
    /// The only stream that may be subscribed to with the token; nil for any.
    public var originStreamID: String?
    /// The tag that a subscribed stream must have; nil for none.
    public var requiredTag: String?
    /// The tags that are added to a stream that is published with the token.
    public var applyTags: [String] = []

    /// Creates a token without restrictions.
    public init(expires: WallTime) { self.expires = expires }

    /// Reads the body of a token. Returns nil if `expires` is missing or a known field has the wrong type, because a
    /// restriction that cannot be read must not be ignored. Unknown fields are ignored.
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

    /// Converts milliseconds since 1970 to a time, clamped to the range of `WallTime` (years 1678 to 2262).
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
