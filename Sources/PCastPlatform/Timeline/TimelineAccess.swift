import PCastCore
import PCastEdgeAuth
import PCastTimeline

/// The authorization of producers and consumers of a game's timeline.
///
/// A producer has the application's credentials (HTTP Basic), or a token for publishing with the capability
/// `timeline-producer`, or `timeline-producer=LEAGUE/GAME` for one game. A consumer has a token for subscribing. If
/// that requires a tag, the tag must be `timeline:LEAGUE` or `timeline:LEAGUE/GAME`.
struct TimelineAccess: Sendable {
    static let capability = "timeline-producer"

    let authenticator: TokenAuthenticator
    let credentials: CredentialCheck

    /// Authorizes a producer by the application's credentials or, if `basic` is nil, by its token. Returns the key of
    /// the timeline.
    ///
    /// - Throws: ``APIError``.
    func produce(
        _ game: TimelineGame, basic: (id: String, secret: String)?, token: String?, clientContext: ClientContext
    ) throws(APIError) -> TimelineKey {
        if let basic {
            try credentials.check(basic.id, secret: basic.secret, from: clientContext.address)
            return TimelineKey(application: ApplicationID(basic.id), game: game)
        }
        let principal = try authenticator.identify(token, clientContext: clientContext)
        try authenticator.authorize(principal, for: .publish, clientContext: clientContext)
        if principal.token != nil || principal.job != nil {
            let wanted = [Self.capability, "\(Self.capability)=\(game)"]
            guard principal.job == nil, wanted.contains(where: { principal.capabilities.contains($0) }) else {
                throw .token("the token lacks the capability \(Self.capability)")
            }
        }
        return TimelineKey(application: principal.application, game: game)
    }

    func follow(_ game: TimelineGame, token: String?, clientContext: ClientContext) throws(APIError) -> TimelineKey {
        let principal = try authenticator.identify(token, clientContext: clientContext)
        let purpose = TokenRequest.Purpose.subscribe(
            originStreamID: "timeline:\(game)", tags: ["timeline:\(game.league)", "timeline:\(game)"])
        try authenticator.authorize(principal, for: purpose, clientContext: clientContext)
        return TimelineKey(application: principal.application, game: game)
    }
}
