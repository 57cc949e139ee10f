import PCastMedia
import PCastRTP

/// Writes down how the packets of a viewer come: of each the bytes of its header and of its whole datagram, a line for
/// each frame, which is what `scripts/fanout-limit.c` reads.
final class PacketTap {
    private let limit: Int
    private(set) var frames: [[(header: Int, size: Int)]] = []
    private var current: [(header: Int, size: Int)] = []
    private var hasBegun = false

    /// - Parameter frames: so many whole ones.
    init(frames limit: Int) { self.limit = limit }

    var isFull: Bool { frames.count >= limit }

    /// - Parameter source: of the video; what repeats it, or probes the path, is another's.
    func take(_ datagram: UnsafeRawBufferPointer, of source: UInt32?) {
        guard !isFull, let header = RTPHeader.parseProtected(Span(_unsafeBytes: datagram)), header.ssrc == source
        else { return }
        if hasBegun { current.append((header.headerSize, datagram.count)) }
        guard header.marker else { return }
        if hasBegun { frames.append(current) }
        hasBegun = true
        current = []
    }

    var text: String {
        frames.map { $0.map { "\($0.header):\($0.size)" }.joined(separator: " ") + "\n" }.joined()
    }

    /// Bytes of a datagram, on the average.
    var meanSize: Double {
        let sizes = frames.joined().map(\.size)
        return Double(sizes.reduce(0, +)) / Double(max(1, sizes.count))
    }
}
