public import PCastCore
public import PCastEdgeAuth
import PCastJSON

/// The rules by which the claims of a token are accepted and become grants.
public struct JSONWebTokenPolicy: Hashable, Sendable {
    /// The required claim `iss`.
    public var issuer: String
    /// The value that the claim `aud` must contain.
    public var audience: String
    /// The accepted difference between the clocks of the issuer and of this host.
    public var leeway: TimeSpan

    /// Creates rules.
    public init(issuer: String, audience: String, leeway: TimeSpan = .seconds(60 as Int64)) {
        (self.issuer, self.audience, self.leeway) = (issuer, audience, leeway)
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - keys: The keys of the issuer.
    ///   - now: The current time.
    /// - Returns: What the token grants.
    /// - Throws: ``JSONWebTokenError``.
    public func grants(
        of token: JSONWebToken, by keys: JSONWebKeySet, at now: WallTime
    ) throws(JSONWebTokenError) -> JSONWebTokenGrants {
        // Nothing of a token is used before its signature.
        try keys.verify(token)
        let claims = token.claims
        guard claims["iss"]?.string == issuer else { throw .claim("iss") }
        let audiences = claims["aud"]?.array ?? claims["aud"].map { [$0] } ?? []
        guard audiences.contains(where: { $0.string == audience }) else { throw .claim("aud") }
        guard let end = try time("exp", claims) else { throw .claim("exp") }
        // The time at which other checks consider the token to be expired includes the leeway.
        let expires = end + leeway
        guard now < expires else { throw .expired }
        for name in ["nbf", "iat"] {
            if let start = try time(name, claims), start > now + leeway { throw .notYetValid }
        }
        guard let claim = claims["pcast"]?.object else { throw .claim("pcast") }
        return try JSONWebTokenGrants(
            claim, subject: claims["sub"]?.string, id: claims["jti"]?.string, expires: expires)
    }

    /// Returns the time of a claim in seconds since 1970; nil if it is absent. Times are clamped to those of EdgeAuth
    /// tokens.
    private func time(_ name: String, _ claims: JSONObject) throws(JSONWebTokenError) -> WallTime? {
        guard let value = claims[name] else { return nil }
        guard let seconds = value.number else { throw .claim(name) }
        let limit = 9.0e9
        return WallTime(millisecondsSinceEpoch: Int64(min(max(seconds, -limit), limit) * 1_000))
    }
}

/// The grants of a JSON Web Token: the claim `pcast`, which is an object.
public struct JSONWebTokenGrants: Hashable, Sendable {
    /// The subject of the token (`sub`), such as a user; nil if absent.
    public let subject: String?
    /// The identifier of the token (`jti`), by which it can be revoked; nil if it has none that is a text.
    public let id: String?
    /// The application (`applicationId`); nil if the token names none.
    public let application: String?
    /// The operations on media, with the restrictions of an EdgeAuth token; nil if `type` is absent, which grants none.
    public let media: EdgeToken?
    /// The role in administration (`role`); nil for none.
    public let role: AdministrationRole?
    /// The time from which on the token is invalid.
    public let expires: WallTime

    /// Reads the claim. Its fields are those of an EdgeAuth token, and `role`.
    ///
    /// - Throws: ``JSONWebTokenError`` if a field has the wrong type, because a restriction that cannot be read must not
    ///   be ignored.
    init(_ claim: JSONObject, subject: String?, id: String?, expires: WallTime) throws(JSONWebTokenError) {
        self.subject = subject
        self.id = id
        var body = claim
        body["expires"] = .integer(expires.millisecondsSinceEpoch)
        guard let token = EdgeToken(body) else { throw .claim("pcast") }
        switch claim["role"] {
        case nil: role = nil
        case .string(let name):
            guard let role = AdministrationRole(rawValue: name) else { throw .claim("pcast.role") }
            self.role = role
        default: throw .claim("pcast.role")
        }
        // A token of EdgeAuth without a type permits viewing. Here a permission must be written.
        media = token.kind == nil ? nil : token
        guard media != nil || role != nil else { throw .claim("pcast.type") }
        application = token.applicationID
        self.expires = expires
    }
}

/// The permission of a person or a program in the administration of an application. Each role includes those before it.
public enum AdministrationRole: String, CaseIterable, Comparable, Hashable, Sendable {
    /// Reading, except secrets.
    case view
    /// Operating streams, names and rooms: ending and starting them, and sending notifications again.
    case operate
    /// Changing who has access: tokens, stream keys and webhooks, and deleting recordings.
    case administer

    /// Compares the permissions.
    public static func < (left: AdministrationRole, right: AdministrationRole) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}
