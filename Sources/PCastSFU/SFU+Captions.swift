public import PCastCore

extension SFU {
    /// Returns the duration to add to a publisher's capture times, to get those that its viewers receive; nil before
    /// the publisher's first sender report, and for another peer.
    public func captureClockOffset(of peer: PeerID) -> TimeSpan? {
        guard case .publisher(let index) = peerIndices[peer] else { return nil }
        return streams[index].clock.offset
    }
}
