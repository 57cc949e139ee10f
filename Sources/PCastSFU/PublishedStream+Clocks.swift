import PCastCore
import PCastRTP
import PCastWebRTC

/// When what a publisher sends was captured, by the relay's clock: viewers are told by it what belongs together.
extension PublishedStream {
    /// Follows the time that a sender report tells. One that tells none, or what cannot be, is ignored: arrivals tell it then.
    mutating func follow(_ type: MediaType, layer: Int, clock reference: WallClockReference, at now: Instant) {
        let track = type == .video ? receiver.layers[layer] : receiver.audio
        guard let report = track?.senderReport?.information, let rate = track?.media.format.clockRate else { return }
        let capture = capture(of: report, rate: rate, arrival: reference.wallTime(at: now))
        if type == .video {
            layers[layer].follow(report, capture, reference, at: now)
        } else {
            audio.follow(report, capture, reference, at: now)
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
    /// A sender report that differs from the arrivals by more is wrong; encoders and queues may be some seconds slow.
    private static let longestDisagreement = TimeSpan.seconds(10 as Int64)
    /// Arrivals tell of so much time.
    private static let arrivalMemory = TimeSpan.seconds(2 as Int64)
    /// From one report to the next, both clocks may differ by so much, and a tenth of the time that passed.
    private static let longestStep = TimeSpan.milliseconds(200)

    /// - Parameter capture: what the report tells by the relay's clock; nil where it tells nothing.
    fileprivate mutating func follow(
        _ report: SenderInformation, _ capture: CaptureClock?, _ clock: WallClockReference, at now: Instant
    ) {
        let isConsistent = isConsistent(report, rate: capture?.rate)
        lastReport = report
        followsReports = false
        guard let capture, isConsistent, !contradictsArrivals(capture, clock, at: now) else { return }
        captureClock = capture
        followsReports = true
    }

    /// Whether as much time passed by the timestamps since the report before as by the clock.
    private func isConsistent(_ report: SenderInformation, rate: ClockRate?) -> Bool {
        guard let lastReport, let rate, lastReport.ntpTimestamp != 0 else { return true }
        let ticks = Int64(Int32(bitPattern: report.rtpTimestamp &- lastReport.rtpTimestamp))
        let passed = WallTime(ntpTimestamp: report.ntpTimestamp) - WallTime(ntpTimestamp: lastReport.ntpTimestamp)
        let difference = rate.span(ofTicks: ticks) - passed
        return max(difference, .zero - difference) <= Self.longestStep + max(passed, .zero - passed) / 10
    }

    private func contradictsArrivals(
        _ capture: CaptureClock, _ clock: WallClockReference, at now: Instant
    ) -> Bool {
        guard let last = arrivalClock.last, now - last < Self.arrivalMemory,
            let arrivals = arrivalClock.captureClock(rate: capture.rate, clock)
        else { return false }
        let difference = arrivals.wallTime(of: capture.timestamp) - capture.wallTime
        return max(difference, .zero - difference) > Self.longestDisagreement
    }

    fileprivate mutating func followArrivals(_ clock: WallClockReference, at now: Instant) {
        guard !followsReports, let rate = carried?.codec.clockRate, arrivalClock.isSettled(at: now) else { return }
        captureClock = arrivalClock.captureClock(rate: rate, clock)
    }
}
