import PCastCore
import PCastWebRTC

/// A WHIP or WHEP session, which a resource URI represents.
struct WebRTCResource: Sendable {
    let participation: PeerSession
    /// The username fragment (ufrag) of the peer. A PATCH with another one requests an ICE restart.
    var remoteUfrag: String
    /// The strong entity tag, which changes with each restart (RFC 9725, section 4.3.1).
    var entityTag: String
    var hasRestarted = false
}

/// The sessions of an endpoint by their unguessable names. The maximum number of peers is the bound, because each
/// session has one.
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
