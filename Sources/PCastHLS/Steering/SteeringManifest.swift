package import PCastCore

/// The response of a steering server (RFC 8216bis, section 7.2). Pathway cloning is not supported.
package struct SteeringManifest: Hashable, Sendable {
    /// The supported version of the format.
    package static let version = 1
    /// The time to live if the manifest does not specify it.
    package static let defaultTimeToLive = TimeSpan.seconds(300 as Int64)
    /// The maximum size of a manifest in bytes.
    package static let sizeLimit: Int64 = 256 << 10
    /// The maximum number of pathways that are read from a manifest.
    package static let pathwayLimit = 64

    /// The time after which the manifest is loaded again.
    package var timeToLive: TimeSpan
    /// The URI of the next manifest, relative to the URI of this one; nil for the same URI.
    package var reloadURI: String?
    /// The pathway IDs, the preferred one first.
    package var priority: [String]

    /// Creates a manifest.
    package init(
        timeToLive: TimeSpan = SteeringManifest.defaultTimeToLive, reloadURI: String? = nil, priority: [String]
    ) {
        (self.timeToLive, self.reloadURI, self.priority) = (timeToLive, reloadURI, priority)
    }
}
