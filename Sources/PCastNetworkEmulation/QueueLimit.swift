package import PCastCore

/// The limit of a link's queue. Packets that exceed it are dropped (drop-tail).
package enum QueueLimit: Hashable, Sendable {
    case bytes(Int)
    /// The number of bytes that the link carries in this time.
    case span(TimeSpan)

    /// Returns the limit in bytes; nil if it is a time and the link has no rate.
    func bytes(at rate: Bitrate?) -> Int? {
        switch self {
        case .bytes(let count): count
        case .span(let span): rate.map { Int(Double($0.bitsPerSecond) / 8 * span.seconds) }
        }
    }
}
