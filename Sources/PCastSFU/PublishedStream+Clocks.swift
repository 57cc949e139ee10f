import PCastCore
import PCastRTP
import PCastWebRTC

/// The capture times of a publisher's media by the SFU's clock. Viewers synchronize audio and video by them.
extension PublishedStream {
    /// Updates the capture clock of a track from its newest sender report. A report that states no time, or an
    /// impossible one, is ignored; arrival times are used instead.
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
        // A sender without a clock sends 0 (RFC 3550, section 6.4.1).
        guard report.ntpTimestamp != 0 else { return nil }
        let reported = WallTime(ntpTimestamp: report.ntpTimestamp)
        clock.observe(reported: reported, arrival: arrival)
        return clock.relayTime(of: reported, arrival: arrival).map {
            CaptureClock(timestamp: report.rtpTimestamp, wallTime: $0, rate: rate)
        }
    }

    /// Updates the capture clocks of tracks without usable sender reports from arrival times.
    mutating func followArrivals(_ clock: WallClockReference, at now: Instant) {
        for layer in layers.indices { layers[layer].followArrivals(clock, at: now) }
        audio.followArrivals(clock, at: now)
    }
}

extension PublishedTrack {
    /// A sender report that differs more from the arrivals is wrong. Encoders and queues may delay by some seconds.
    private static let longestDisagreement = TimeSpan.seconds(10 as Int64)
    /// The time for which arrivals are comparable with a report.
    private static let arrivalMemory = TimeSpan.seconds(2 as Int64)
    /// The tolerated difference of both clocks between two reports, in addition to a tenth of the time that passed.
    private static let longestStep = TimeSpan.milliseconds(200)

    /// Updates the capture clock from a sender report. `capture` is the report's time by the SFU's clock; nil if it
    /// states no usable time.
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

    /// Whether timestamps and wall clock advanced equally since the last report.
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
        guard !followsReports, let rate = sourceFormat?.codec.clockRate, arrivalClock.isSettled(at: now) else { return }
        captureClock = arrivalClock.captureClock(rate: rate, clock)
    }
}
