import PCastMedia
import PCastRTP
import PCastWebRTC

/// When what a publisher sends was captured, by the relay's clock: viewers are told by it what belongs together.
extension PublishedStream {
    /// A sender report that differs from the arrivals by more is wrong; encoders may be some seconds slow.
    private static let longestDisagreement = TimeSpan.seconds(5 as Int64)
    /// Arrivals tell of so much time.
    private static let arrivalMemory = TimeSpan.seconds(2 as Int64)

    /// Follows the time that a sender report tells. One that tells none, or what cannot be, is ignored: arrivals tell it then.
    mutating func follow(_ type: MediaType, layer: Int, clock reference: WallClockReference, at now: Instant) {
        let track = type == .video ? receiver.layers[layer] : receiver.audio
        guard let report = track?.senderReport?.information, let rate = track?.media.format.clockRate else { return }
        let capture = capture(of: report, rate: rate, arrival: reference.wallTime(at: now))
        if type == .video {
            layers[layer].follow(capture, reference, within: Self.longestDisagreement, Self.arrivalMemory, at: now)
        } else {
            audio.follow(capture, reference, within: Self.longestDisagreement, Self.arrivalMemory, at: now)
        }
    }

    private mutating func capture(
        of report: SenderInformation, rate: ClockRate, arrival: WallTime
    ) -> CaptureClock? {
        // A sender without a clock says 0 (RFC 3550, section 6.4.1).
        guard report.ntpTimestamp != 0 else { return nil }
        let reported = WallTime(ntpTimestamp: report.ntpTimestamp)
        clock.observe(reported: reported, arrival: arrival)
        return clock.relayTime(of: reported, arrival: arrival).map {
            CaptureClock(timestamp: report.rtpTimestamp, wallTime: $0, rate: rate)
        }
    }

    /// Follows the arrivals of the tracks of which no sender report tells.
    mutating func followArrivals(_ clock: WallClockReference, at now: Instant) {
        for layer in layers.indices { layers[layer].followArrivals(clock, at: now) }
        audio.followArrivals(clock, at: now)
    }
}

extension PublishedTrack {
    /// - Parameter capture: what a sender report tells; nil where it tells nothing.
    fileprivate mutating func follow(
        _ capture: CaptureClock?, _ clock: WallClockReference, within tolerance: TimeSpan, _ memory: TimeSpan,
        at now: Instant
    ) {
        guard let capture, !contradictsArrivals(capture, clock, tolerance, memory, at: now) else {
            followsReports = false
            return
        }
        captureClock = capture
        followsReports = true
    }

    private func contradictsArrivals(
        _ capture: CaptureClock, _ clock: WallClockReference, _ tolerance: TimeSpan, _ memory: TimeSpan, at now: Instant
    ) -> Bool {
        guard let last = arrivalClock.last, now - last < memory,
            let arrivals = arrivalClock.captureClock(rate: capture.rate, clock)
        else { return false }
        let difference = arrivals.wallTime(of: capture.timestamp) - capture.wallTime
        return max(difference, .zero - difference) > tolerance
    }

    fileprivate mutating func followArrivals(_ clock: WallClockReference, at now: Instant) {
        guard !followsReports, let rate = carried?.codec.clockRate, arrivalClock.isSettled(at: now) else { return }
        captureClock = arrivalClock.captureClock(rate: rate, clock)
    }
}
