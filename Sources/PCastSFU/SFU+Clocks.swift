public import PCastCore
import PCastRTP
public import PCastWebRTC

extension SFU {
    /// Returns the mapping from the RTP timestamps of the video that a viewer receives to the times of capture, by the
    /// clock of this host. It is that of the viewer's sender reports (RFC 3550, section 6.4.1), less the time that the
    /// publisher's reports take to this host.
    ///
    /// - Returns: The mapping; nil if the viewer is gone, receives no video, or has not received any packet of it yet.
    public func videoClock(viewedBy peer: PeerID, at now: Instant) -> CaptureClock? {
        guard case .viewer(let index) = peerIndices[peer], let video = viewers[index].sender.video else { return nil }
        let wallTime = configuration.clock.wallTime(at: now)
        guard let report = video.pointee.report.report(at: wallTime) else { return nil }
        let delay = (streams[viewers[index].stream].receiver.roundTrip ?? .zero) / 2
        return CaptureClock(
            timestamp: report.rtpTimestamp, wallTime: wallTime - delay, rate: video.pointee.report.clockRate)
    }
}
