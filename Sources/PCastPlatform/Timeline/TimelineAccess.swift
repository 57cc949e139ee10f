import PCastEdgeAuth
import PCastMedia
import PCastTimeline

/// Who may write a game's timeline, and who may follow it.
///
/// A producer has the application's own credentials (HTTP Basic), or a token for publishing that has the capability
/// `timeline-producer`, or, for one game, `timeline-producer=LEAGUE/GAME`. A consumer has a token that one may view with,
/// whose required tag, where it has one, is `timeline:LEAGUE` or `timeline:LEAGUE/GAME`.
struct TimelineAccess: Sendable {
    static let capability = "timeline-producer"

    let gatekeeper: Gatekeeper
    let credentials: CredentialCheck

    /// - Parameter basic: the application's credentials, where they were given.
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
