import PCastMedia
import PCastWebRTC

/// A WHIP or WHEP session, as its resource address stands for it.
struct WebRTCResource: Sendable {
    let participation: Participation
    /// The peer's fragment; another one in a PATCH asks for a restart.
    var remoteUfrag: String
    /// Strong, new with each restart (WH3).
    var entityTag: String
    var hasRestarted = false
}

/// The sessions of one door by their unguessable names. Bounded by the relay's peers, for each is one.
actor WebRTCResources {
    private var resources: [String: WebRTCResource] = [:]

    func insert(_ resource: WebRTCResource, name: String) { resources[name] = resource }

    func find(_ name: String) -> WebRTCResource? { resources[name] }

    func restarted(_ name: String, remoteUfrag: String) -> String? {
        guard resources[name] != nil else { return nil }
        let tag = Self.newEntityTag()
        resources[name]?.remoteUfrag = remoteUfrag
        resources[name]?.entityTag = tag
        resources[name]?.hasRestarted = true
        return tag
    }

    @discardableResult
    func remove(_ name: String) -> WebRTCResource? { resources.removeValue(forKey: name) }

    static func newEntityTag() -> String { "\"\(RandomIdentifier.make().prefix(12))\"" }
}
