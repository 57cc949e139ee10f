import PCastEdgeAuth
import PCastIO
import PCastMedia

/// Reads tokens at every door alike: finds the application, checks the signature, enforces each restriction.
struct Gatekeeper: Sendable {
    /// Those whose tokens count.
    private struct Applications: Sendable {
        let secrets: [String: String]
        let owner: ApplicationID

        init(_ applications: [PlatformConfiguration.Application]) {
            secrets = Dictionary(
                applications.map { ($0.id.description, $0.secret) }, uniquingKeysWith: { _, last in last })
            owner = applications.first?.id ?? ApplicationID("local")
        }
    }

    private let applications: Setting<Applications>
    private var secrets: [String: String] { applications.value.secrets }
    /// Somebody on this machine needs no token.
    let isOpenToThisMachine: Bool
    /// Whom the platform has started itself.
    let workers = WorkCredentials()

    init(_ applications: [PlatformConfiguration.Application], isOpenToThisMachine: Bool) {
        self.applications = Setting(Applications(applications))
        self.isOpenToThisMachine = isOpenToThisMachine
    }

    /// Those count from now on, and no others; who was let in stays.
    func change(_ applications: [PlatformConfiguration.Application]) {
        self.applications.value = Applications(applications)
    }

    /// Those whose tokens count.
    var applicationIDs: [ApplicationID] { secrets.keys.map { ApplicationID($0) } }

    /// A token that one of the applications would give; nil when there is no such application.
    func token(
        of application: ApplicationID, _ restrict: (EdgeTokenBuilder) -> EdgeTokenBuilder
    ) -> String? {
        guard let secret = secrets[application.description] else { return nil }
        let builder = EdgeTokenBuilder().withApplicationId(application.description).withSecret(secret)
        return try? restrict(builder).build()
    }

    /// Verifies a token's signature. What it allows is enforced by `authorize`.
    func identify(_ encoded: String?, visitor: Visitor) throws(Refusal) -> Grant {
        guard let encoded, !encoded.isEmpty else {
            guard isOpenToThisMachine, visitor.isOnThisMachine else { throw .noToken }
            return Grant(application: applications.value.owner, token: nil)
        }
        if let grant = workers.grant(encoded) { return grant }
        guard let application = DigestTokens.applicationID(of: encoded) else { throw .token("bad-token") }
        // An unknown application costs the same as a wrong secret, so that names cannot be tried out.
        let secrets = secrets
        let secret = secrets[application] ?? "\u{0}"
        let verification = DigestTokens.verifyAndDecode(secret: secret, encoded: encoded)
        guard secrets[application] != nil else { throw .token("unknown application") }
        guard let token = verification.token else { throw .token(verification.code.rawValue) }
        return Grant(
            application: ApplicationID(application), token: token, fingerprint: DigestTokens.fingerprint(of: encoded))
    }

    /// Enforces every restriction of the grant's token for one purpose.
    ///
    /// - Parameter capabilities: which the token must have.
    func authorize(
        _ grant: Grant, for purpose: TokenRequest.Purpose, visitor: Visitor, capabilities: [String] = []
    ) throws(Refusal) {
        // Whoever asked for it was judged; the worker may do that and nothing else.
        if let work = grant.work { return try authorize(work, for: purpose) }
        guard let token = grant.token else { return }
        let request = TokenRequest(
            purpose, sessionID: visitor.sessionID?.description, remoteAddress: visitor.address,
            capabilities: capabilities)
        do {
            try TokenAuthorization(token).authorize(request, at: MonotonicClock.wallTime())
        } catch {
            throw .token("\(error)")
        }
    }

    private func authorize(_ work: StreamWork, for purpose: TokenRequest.Purpose) throws(Refusal) {
        switch (work.purpose, purpose) {
        case (.publish, .publish), (_, .authenticate): return
        case (.egress(let origin), .subscribe(let asked, _)) where origin.description == asked: return
        default: throw .token("a worker's credential is for its own stream alone")
        }
    }

    /// Whether a session may be opened with the grant's token.
    ///
    /// A token for publishing or for viewing alone opens one too, so that a program needs a single token; such a session
    /// is good for nothing but that token, which is as if it came with the stream's request.
    ///
    /// - Returns: whether the session is only for the token's own streams.
    func admit(_ grant: Grant, visitor: Visitor) throws(Refusal) -> Bool {
        if grant.work != nil { return true }
        switch grant.token?.kind {
        case .publishing:
            try authorize(grant, for: .publish, visitor: visitor)
            return true
        case .streaming:
            let purpose = TokenRequest.Purpose.subscribe(
                originStreamID: grant.token?.originStreamID ?? "", tags: grant.token?.requiredTag.map { [$0] } ?? [])
            try authorize(grant, for: purpose, visitor: visitor)
            return true
        case .authentication, nil:
            try authorize(grant, for: .authenticate, visitor: visitor)
            return false
        }
    }

    /// Whether there is an application of this ID.
    func hasApplication(_ id: String) -> Bool { secrets[id] != nil }

    /// Checks an application's own credentials (HTTP Basic), in constant time.
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
