import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastJWT

/// The authentication of tokens, which is the same at all endpoints: it finds the application, verifies the signature,
/// and enforces all restrictions.
struct TokenAuthenticator: Sendable {
    /// The applications whose tokens are valid.
    private struct Applications: Sendable {
        let secrets: [String: String]
        let owner: ApplicationID
        /// The application of JSON Web Tokens that name none: the only one of the configuration.
        let unnamed: ApplicationID?

        init(_ configured: [PlatformConfiguration.Application], _ added: [PlatformConfiguration.Application] = []) {
            secrets = Dictionary(
                (configured + added).map { ($0.id.description, $0.secret) }, uniquingKeysWith: { _, last in last })
            owner = configured.first?.id ?? ApplicationID("local")
            unnamed = configured.count == 1 ? configured[0].id : nil
        }
    }

    private let applications: Setting<Applications>
    private var secrets: [String: String] { applications.value.secrets }
    /// Whether clients on this host need no token.
    let allowsAnonymousLoopback: Bool
    /// The host's own decision; nil if there is none.
    private let hook: AuthenticationHook?
    /// The issuer of JSON Web Tokens; nil if only tokens of EdgeAuth are accepted.
    private let issuer: TokenIssuer?
    /// The time for which JSON Web Tokens are accepted after they have expired.
    var leeway: TimeSpan { issuer?.leeway ?? .zero }
    /// The tokens of the ingest and egress jobs that the platform started.
    let workers = JobCredentials()
    let revocations = TokenRevocations()

    init(
        _ applications: [PlatformConfiguration.Application], allowsAnonymousLoopback: Bool,
        hook: AuthenticationHook? = nil, issuer: TokenIssuer? = nil
    ) {
        self.applications = Setting(Applications(applications))
        self.allowsAnonymousLoopback = allowsAnonymousLoopback
        self.hook = hook
        self.issuer = issuer
    }

    /// Replaces the applications of the configuration, and those that were added. Clients that were accepted before stay.
    /// Only one task may call it at a time.
    ///
    /// - Returns: The applications whose former secret is not valid any more.
    @discardableResult
    func change(
        _ configured: [PlatformConfiguration.Application], added: [PlatformConfiguration.Application] = []
    ) -> Set<ApplicationID> {
        let (old, new) = (applications.value, Applications(configured, added))
        applications.value = new
        return Set(old.secrets.filter { new.secrets[$0.key] != $0.value }.keys.map { ApplicationID($0) })
    }

    /// The applications whose tokens are valid.
    var applicationIDs: [ApplicationID] { secrets.keys.map { ApplicationID($0) } }

    /// The application of clients that need no token, and of declared streams that name none.
    var owner: ApplicationID { applications.value.owner }

    /// Returns a token of an application with the given restrictions; nil if the application does not exist.
    func token(
        of application: ApplicationID, _ restrict: (EdgeTokenBuilder) -> EdgeTokenBuilder
    ) -> String? {
        guard let secret = secrets[application.description] else { return nil }
        let builder = EdgeTokenBuilder().withApplicationId(application.description).withSecret(secret)
        return try? restrict(builder).build()
    }

    /// Verifies the signature of a token as ``identify(_:clientContext:)`` does. If a JSON Web Token names a key that is
    /// not known yet, it first requests the keys of the issuer.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    nonisolated(nonsending) func identifyClient(
        _ encoded: String?, from clientContext: ClientContext
    ) async throws(APIError) -> Principal {
        await issuer?.refresh(for: encoded, at: MonotonicClock.now())
        return try identify(encoded, clientContext: clientContext)
    }

    /// Verifies the signature of a token. `authorize` enforces its restrictions.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    func identify(_ encoded: String?, clientContext: ClientContext) throws(APIError) -> Principal {
        guard let encoded, !encoded.isEmpty else {
            guard allowsAnonymousLoopback, clientContext.isOnThisMachine else { throw .noToken }
            return Principal(application: applications.value.owner, token: nil)
        }
        if let principal = workers.principal(encoded) { return principal }
        if let issuer, JSONWebToken.hasForm(of: encoded) {
            let (application, grants) = try grants(of: encoded, by: issuer)
            guard let token = grants.media else { throw .token("the token has no type") }
            return Principal(
                application: application, token: token, fingerprint: DigestTokens.fingerprint(of: encoded),
                revocationKey: grants.id.map { TokenRevocations.key(ofJSONWebToken: $0, application) })
        }
        guard let application = DigestTokens.applicationID(of: encoded) else { throw .token("bad-token") }
        // An unknown application takes the same time as a wrong secret, so that a client cannot find out valid names.
        let secrets = secrets
        let secret = secrets[application] ?? "\u{0}"
        let verification = DigestTokens.verifyAndDecode(secret: secret, encoded: encoded)
        guard secrets[application] != nil else { throw .token("unknown application") }
        guard let token = verification.token else { throw .token(verification.code.rawValue) }
        let principal = Principal(
            application: ApplicationID(application), token: token,
            fingerprint: DigestTokens.fingerprint(of: encoded),
            revocationKey: DigestTokens.contentFingerprint(of: encoded))
        try checkRevocation(of: principal)
        return principal
    }

    /// Checks that the token of a client is not revoked.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if it is.
    func checkRevocation(of principal: Principal) throws(APIError) {
        guard let key = principal.revocationKey, revocations.contains(key) else { return }
        throw .token("the token is revoked")
    }

    /// Returns the key by which a token can be revoked, and the time until it expires, which is zero for an expired one; nil
    /// if it is not a token of the application, its signature is wrong, or it is a JSON Web Token without an identifier.
    nonisolated(nonsending) func revocable(
        _ encoded: String, of application: ApplicationID
    ) async -> (key: String, lifetime: TimeSpan)? {
        let (key, expires): (String, WallTime)
        if let issuer, JSONWebToken.hasForm(of: encoded) {
            await issuer.refresh(for: encoded, at: MonotonicClock.now())
            guard let (owner, grants) = try? verifiedGrants(of: encoded, by: issuer), owner == application,
                let id = grants.id
            else { return nil }
            (key, expires) = (TokenRevocations.key(ofJSONWebToken: id, application), grants.expires)
        } else {
            guard DigestTokens.applicationID(of: encoded) == application.description,
                let secret = secrets[application.description],
                let token = DigestTokens.verifyAndDecode(secret: secret, encoded: encoded).token,
                let content = DigestTokens.contentFingerprint(of: encoded)
            else { return nil }
            (key, expires) = (content, token.expires)
        }
        let now = MonotonicClock.wallTime()
        return (key, now < expires ? expires - now : .zero)
    }

    /// Returns whether a text has the form of a token that this platform may accept.
    func hasForm(of encoded: String) -> Bool {
        DigestTokens.applicationID(of: encoded) != nil || issuer != nil && JSONWebToken.hasForm(of: encoded)
    }

    /// Returns the application that a JSON Web Token administers, with the role and the subject of its bearer, and the time
    /// from which on the token is invalid.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    nonisolated(nonsending) func administrator(
        _ encoded: String
    ) async throws(APIError) -> (
        application: ApplicationID, role: AdministrationRole, subject: String?, expires: WallTime
    ) {
        guard let issuer, JSONWebToken.hasForm(of: encoded) else { throw .token("bad-token") }
        await issuer.refresh(for: encoded, at: MonotonicClock.now())
        let (application, grants) = try grants(of: encoded, by: issuer)
        guard let role = grants.role else { throw .token("the token has no role") }
        return (application, role, grants.subject, grants.expires)
    }

    /// Returns what a JSON Web Token grants that is not revoked, and its application.
    private func grants(
        of encoded: String, by issuer: TokenIssuer
    ) throws(APIError) -> (ApplicationID, JSONWebTokenGrants) {
        let (application, grants) = try verifiedGrants(of: encoded, by: issuer)
        if let id = grants.id, revocations.contains(TokenRevocations.key(ofJSONWebToken: id, application)) {
            throw .token("the token is revoked")
        }
        return (application, grants)
    }

    /// Returns what a JSON Web Token grants, and its application, which is the only one if the token names none.
    private func verifiedGrants(
        of encoded: String, by issuer: TokenIssuer
    ) throws(APIError) -> (ApplicationID, JSONWebTokenGrants) {
        let grants: JSONWebTokenGrants
        do throws(JSONWebTokenError) {
            grants = try issuer.grants(
                of: encoded, at: MonotonicClock.now(), wallTime: MonotonicClock.wallTime())
        } catch {
            throw .token("\(error)")
        }
        let applications = applications.value
        guard let name = grants.application ?? applications.unnamed?.description, applications.secrets[name] != nil
        else { throw .token("unknown application") }
        return (ApplicationID(name), grants)
    }

    /// Enforces all restrictions of a token for one purpose. The token must have all of `capabilities`.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    func authorize(
        _ principal: Principal, for purpose: TokenRequest.Purpose, clientContext: ClientContext,
        capabilities: [String] = []
    ) throws(APIError) {
        // The client that requested the job was authorized. The job may only do what was requested.
        if let job = principal.job { return try authorize(job, for: purpose) }
        guard let token = principal.token else { return }
        let request = TokenRequest(
            purpose, sessionID: clientContext.sessionID?.description, remoteAddress: clientContext.address,
            capabilities: capabilities)
        do {
            try TokenAuthorization(token).authorize(request, at: MonotonicClock.wallTime())
        } catch {
            throw .token("\(error)")
        }
    }

    private func authorize(_ job: IngestJobRunner, for purpose: TokenRequest.Purpose) throws(APIError) {
        switch (job.purpose, purpose) {
        case (.publish, .publish), (_, .authenticate): return
        case (.egress(let origin), .subscribe(let requested, _)) where origin.description == requested: return
        default: throw .token("a worker's credential is valid for its own stream only")
        }
    }

    /// Checks whether a session may be opened with a token. Returns whether the session may only be used for the
    /// token's own streams.
    ///
    /// A token for publishing or subscribing also opens a session, so that a program needs only one token. Such a
    /// session permits the same as the token permits in the request of a stream.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    func admit(_ principal: Principal, clientContext: ClientContext) throws(APIError) -> Bool {
        if principal.job != nil { return true }
        switch principal.token?.kind {
        case .publishing:
            try authorize(principal, for: .publish, clientContext: clientContext)
            return true
        case .streaming:
            let purpose = TokenRequest.Purpose.subscribe(
                originStreamID: principal.token?.originStreamID ?? "",
                tags: principal.token?.requiredTag.map { [$0] } ?? [])
            try authorize(principal, for: purpose, clientContext: clientContext)
            return true
        case .authentication, nil:
            try authorize(principal, for: .authenticate, clientContext: clientContext)
            return false
        }
    }

    /// Whether the host makes decisions of its own.
    var hasHook: Bool { hook != nil }

    /// Calls the host's hook for a client that EdgeAuth has accepted. It is not called for a job, because it was called
    /// for the client that requested the job.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    nonisolated(nonsending) func checkHook(
        _ purpose: AuthenticationRequest.Purpose, _ principal: Principal, _ clientContext: ClientContext
    ) async throws(APIError) {
        guard let hook, principal.job == nil else { return }
        switch await hook(AuthenticationRequest(purpose, principal, clientContext)) {
        case .permit: return
        case .reject(let message): throw APIError(.unauthorized, message, detail: "the host rejected the client")
        }
    }

    /// Checks the credentials of an application (HTTP Basic) in constant time.
    func isApplication(_ id: String, secret: String) -> Bool {
        let secrets = secrets
        let expected = Array((secrets[id] ?? "\u{0}").utf8)
        let given = Array(secret.utf8)
        var difference = expected.count ^ given.count
        for index in expected.indices { difference |= Int(expected[index] ^ given[index % max(given.count, 1), or: 0]) }
        return difference == 0 && secrets[id] != nil
    }
}

extension [UInt8] {
    fileprivate subscript(index: Int, or fallback: UInt8) -> UInt8 { indices.contains(index) ? self[index] : fallback }
}

/// An authenticated client: the owner of an application's token, or any client of this host if the platform listens on
/// loopback only.
struct Principal: Sendable {
    let application: ApplicationID
    /// The token; nil for a client of this host without a token.
    let token: EdgeToken?
    /// The fingerprint of the encoded token.
    var fingerprint: String?
    /// The key by which the token can be revoked; nil if it cannot.
    var revocationKey: String?
    /// The limits of the stream key with which the client publishes.
    var limits = StreamKeyLimits()
    /// The ingest or egress job of the platform to which the token belongs; nil for all other clients.
    var job: IngestJobRunner?
    /// The tags that the client requested for a stream of the room for which its token is valid.
    var roomTags: [String] = []

    /// The tags that the token applies, and those of its room.
    var tags: [String] { (token?.applyTags ?? []) + roomTags }
    var capabilities: [String] { token?.capabilities ?? [] }

    /// The owner of a stream, who may resume it: all clients whose tokens apply the same tags, or, without tags, the
    /// clients with the same token. Nil for a job, because a new job publishes a new stream.
    var publisher: String? {
        guard job == nil else { return nil }
        guard token != nil else { return Self.localPublisher }
        let tags = token?.applyTags ?? []
        return tags.isEmpty ? fingerprint : Self.tagsPrefix + tags.sorted().joined(separator: "\n")
    }

    static let localPublisher = "this machine"
    private static let tagsPrefix = "tags "

    /// Returns the tags of a publisher's token; nil if it applied none.
    static func appliedTags(of publisher: String) -> Set<String>? {
        guard publisher.utf8.starts(with: tagsPrefix.utf8) else { return nil }
        let tags = publisher.utf8.dropFirst(tagsPrefix.utf8.count).split(separator: UInt8(ascii: "\n"))
        return Set(tags.map { String(Substring($0)) })
    }
}
