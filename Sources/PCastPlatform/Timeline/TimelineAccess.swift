import PCastEdgeAuth
import PCastMedia
import PCastTimeline

/// The authorization of producers and consumers of a game's timeline.
///
/// A producer has the application's credentials (HTTP Basic), or a token for publishing with the capability
/// `timeline-producer`, or `timeline-producer=LEAGUE/GAME` for one game. A consumer has a token for subscribing. If
/// that requires a tag, the tag must be `timeline:LEAGUE` or `timeline:LEAGUE/GAME`.
struct TimelineAccess: Sendable {
    static let capability = "timeline-producer"

    let gatekeeper: Gatekeeper
    let credentials: CredentialCheck

    /// Authorizes a producer by the application's credentials or, if `basic` is nil, by its token. Returns the key of
    /// the timeline.
    ///
    /// - Throws: ``Refusal``.
    func produce(
        _ game: TimelineGame, basic: (id: String, secret: String)?, token: String?, visitor: Visitor
    ) throws(Refusal) -> TimelineKey {
        if let basic {
            try credentials.check(basic.id, secret: basic.secret, from: visitor.address)
            return TimelineKey(application: ApplicationID(basic.id), game: game)
        }
        let grant = try gatekeeper.identify(token, visitor: visitor)
        try gatekeeper.authorize(grant, for: .publish, visitor: visitor)
        if grant.token != nil || grant.work != nil {
            let wanted = [Self.capability, "\(Self.capability)=\(game)"]
            guard grant.work == nil, wanted.contains(where: { grant.capabilities.contains($0) }) else {
                throw .token("it has not the capability \(Self.capability)")
            }
        }
        return TimelineKey(application: grant.application, game: game)
    }

    func follow(_ game: TimelineGame, token: String?, visitor: Visitor) throws(Refusal) -> TimelineKey {
        let grant = try gatekeeper.identify(token, visitor: visitor)
        let purpose = TokenRequest.Purpose.subscribe(
            originStreamID: "timeline:\(game)", tags: ["timeline:\(game.league)", "timeline:\(game)"])
        try gatekeeper.authorize(grant, for: purpose, visitor: visitor)
        return TimelineKey(application: grant.application, game: game)
    }
}
