import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

/// A viewer and its downlink from the platform's view.
private struct Downlink {
    var clock = QualityClock()
    var machine = ViewerQuality()
    var publisher = DataQuality.good
    var hasVideo = true
    var hasAudio = true
    var requestsVideo = true
    var selection = ViewerQuality.Selection.full
    var evidence = LinkLimitation.Evidence(estimate: .kilobits(3_000), wanted: .kilobits(2_000), loss: 0)
    /// The number of reports per second.
    var reports: Double? = 2
    var isAway = false
    private var count = 0.0

    mutating func run(_ seconds: Double) {
        var clock = clock
        clock.run(seconds) { now in
            count += (reports ?? 0) / 2
            return machine.observe(
                ViewerQuality.Observation(
                    publisher: publisher, hasVideo: hasVideo, hasAudio: hasAudio, requestsVideo: requestsVideo,
                    selection: selection, downlink: evidence, reports: Int(count), isAway: isAway), at: now)
        }
        self.clock = clock
    }

    mutating func cut() {
        reports = nil
        evidence = LinkLimitation.Evidence()
    }

    var rows: [DataQuality] { clock.rows }
    var delays: [Double] { clock.received.map(\.at) }
}

@Suite("The data quality of a viewer")
struct ViewerQualityTests {
    @Test("a good network causes no report")
    func good() {
        var downlink = Downlink()
        downlink.run(60)
        #expect(downlink.rows.isEmpty)
    }

    // MARK: Each row by its cause

    @Test("NoData, None: the viewer is silent, and there was no problem before")
    func noDataNone() {
        var downlink = Downlink()
        downlink.run(10)
        downlink.cut()
        downlink.run(5)
        #expect(downlink.rows == [.row(.noData, .none)])
        #expect(downlink.delays[0] - 10 <= 2.5)
        downlink.reports = 2
        downlink.run(3)
        #expect(downlink.machine.quality == .good)
    }

    @Test("NoData, None if the viewer is disconnected and reports are rare")
    func seldomReports() {
        var downlink = Downlink()
        downlink.reports = 0.2
        downlink.run(30)
        downlink.cut()
        downlink.run(4)
        #expect(downlink.rows.isEmpty)
        downlink.isAway = true
        downlink.run(1)
        #expect(downlink.rows == [.row(.noData, .none)])
    }

    @Test("NoData, DownloadLimited: the bandwidth permits nothing")
    func noDataDownloadLimited() {
        var downlink = Downlink()
        downlink.run(10)
        downlink.selection = .nothing
        downlink.run(2)
        #expect(downlink.rows == [.row(.noData, .downloadLimited)])
        downlink.selection = .audioOnly
        downlink.run(3)
        downlink.selection = .full
        downlink.run(3)
        #expect(downlink.rows == [.row(.noData, .downloadLimited), .row(.audioOnly, .downloadLimited), .good])
    }

    @Test("NoData, DownloadLimited: everything is lost, or the downlink was limited before the silence")
    func everythingLost() {
        var downlink = Downlink()
        downlink.run(10)
        downlink.evidence = LinkLimitation.Evidence(loss: 1)
        downlink.run(3)
        #expect(downlink.machine.quality == .row(.noData, .downloadLimited))
        var silent = Downlink()
        silent.run(10)
        silent.evidence.estimate = .kilobits(300)
        silent.run(3)
        silent.cut()
        silent.run(20)
        #expect(silent.rows == [.row(.all, .downloadLimited), .row(.noData, .downloadLimited)])
    }

    @Test("NoData, PublisherLimited: nothing arrives from the publisher, whatever its own row")
    func noDataPublisherLimited() {
        for reason in [DataQuality.Reason.none, .uploadLimited] {
            var downlink = Downlink()
            downlink.run(10)
            downlink.publisher = .row(.noData, reason)
            downlink.run(4)
            downlink.publisher = .good
            downlink.run(4)
            #expect(downlink.rows == [.row(.noData, .publisherLimited), .good])
        }
    }

    @Test("NoData, NetworkLimited: a stream without audio is reduced for others until nothing remains")
    func noDataNetworkLimited() {
        var downlink = Downlink()
        downlink.hasAudio = false
        downlink.run(10)
        downlink.publisher = .row(.audioOnly, .networkLimited)
        downlink.run(4)
        #expect(downlink.rows == [.row(.noData, .networkLimited)])
    }

    @Test("All, DownloadLimited: a lower layer, a low estimate, or high loss")
    func allDownloadLimited() {
        for cause in 0..<3 {
            var downlink = Downlink()
            downlink.run(10)
            switch cause {
            case 0: downlink.selection = .reduced
            case 1: downlink.evidence.estimate = .kilobits(800)
            default: downlink.evidence.loss = 0.3
            }
            downlink.run(10)
            #expect(downlink.rows == [.row(.all, .downloadLimited)])
        }
    }

    @Test("All and AudioOnly, PublisherLimited: the publisher's uplink is limited")
    func publisherLimited() {
        var downlink = Downlink()
        downlink.run(10)
        downlink.publisher = .row(.all, .uploadLimited)
        downlink.run(4)
        downlink.publisher = .row(.audioOnly, .uploadLimited)
        downlink.run(4)
        downlink.publisher = .good
        downlink.run(4)
        #expect(downlink.rows == [.row(.all, .publisherLimited), .row(.audioOnly, .publisherLimited), .good])
    }

    @Test("All and AudioOnly, NetworkLimited: reduced for others; a limited viewer gets its own reason")
    func networkLimited() {
        var good = Downlink()
        var limited = Downlink()
        limited.evidence.estimate = .kilobits(400)
        limited.run(5)
        good.run(10)
        for row in [DataQuality.row(.all, .networkLimited), .row(.audioOnly, .networkLimited)] {
            good.publisher = row
            limited.publisher = row
            good.run(4)
            limited.run(4)
        }
        #expect(good.rows == [.row(.all, .networkLimited), .row(.audioOnly, .networkLimited)])
        #expect(limited.rows == [.row(.all, .downloadLimited), .row(.audioOnly, .downloadLimited)])
    }

    @Test("the viewer that causes a reduction is not notified of others as the cause")
    func loweredAtOnce() {
        var limited = Downlink()
        limited.run(10)
        limited.evidence.estimate = .kilobits(400)
        limited.run(0.5)
        limited.publisher = .row(.all, .networkLimited)
        limited.run(30)
        #expect(limited.rows == [.row(.all, .downloadLimited)])
        #expect(limited.delays[0] <= 11)
        limited.evidence.estimate = .kilobits(2_000)
        limited.run(5)
        #expect(limited.rows.last == .row(.all, .networkLimited), "others are still limited")
        limited.publisher = .good
        limited.run(5)
        #expect(limited.machine.quality == .good)
    }

    @Test("AudioOnly, None: there is no video, or the viewer wants none")
    func audioOnlyNone() {
        var silentMovie = Downlink()
        silentMovie.hasVideo = false
        silentMovie.run(10)
        #expect(silentMovie.rows == [.row(.audioOnly, .none)])
        var listener = Downlink()
        listener.requestsVideo = false
        listener.run(10)
        #expect(listener.rows == [.row(.audioOnly, .none)])
        var soundless = Downlink()
        soundless.hasAudio = false
        soundless.run(10)
        #expect(soundless.rows.isEmpty, "a stream without audio is complete")
    }

    @Test("AudioOnly, DownloadLimited: the bandwidth permits audio only")
    func audioOnlyDownloadLimited() {
        var downlink = Downlink()
        downlink.run(10)
        downlink.selection = .audioOnly
        downlink.evidence.estimate = .kilobits(90)
        downlink.run(10)
        #expect(downlink.rows == [.row(.audioOnly, .downloadLimited)])
        #expect(downlink.delays[0] - 10 <= 0.5)
        downlink.selection = .full
        downlink.evidence.estimate = .kilobits(3_000)
        downlink.run(10)
        #expect(downlink.machine.quality == .good)
    }

    // MARK: The responsible hop

    @Test("the hop with the strongest restriction is reported")
    func precedence() {
        var downlink = Downlink()
        downlink.run(5)
        downlink.publisher = .row(.all, .uploadLimited)
        downlink.selection = .audioOnly
        downlink.run(4)
        #expect(downlink.machine.quality == .row(.audioOnly, .downloadLimited))
        downlink.publisher = .row(.noData, .none)
        downlink.run(4)
        #expect(downlink.machine.quality == .row(.noData, .publisherLimited))
        downlink.publisher = .row(.audioOnly, .uploadLimited)
        downlink.selection = .full
        downlink.run(4)
        #expect(downlink.machine.quality == .row(.audioOnly, .publisherLimited))
        downlink.publisher = .row(.all, .uploadLimited)
        downlink.selection = .reduced
        downlink.run(4)
        #expect(downlink.machine.quality == .row(.all, .downloadLimited))
    }

    @Test("a good downlink is never reported as limited, and a good publisher is not the cause")
    func closedTable() {
        var generator = SeededGenerator(seed: 8)
        var seen: Set<DataQuality> = []
        let publishers: [DataQuality] = [
            .row(.noData, .none), .row(.noData, .uploadLimited), .good, .row(.all, .uploadLimited),
            .row(.all, .networkLimited), .row(.audioOnly, .uploadLimited), .row(.audioOnly, .networkLimited),
        ]
        for round in 0..<400 {
            var downlink = Downlink()
            let isDownlinkGood = round.isMultiple(of: 2)
            let isPublisherGood = round.isMultiple(of: 3)
            for _ in 0..<20 {
                if !isPublisherGood { downlink.publisher = publishers.randomElement(using: &generator)! }
                downlink.hasVideo = Int.random(in: 0..<6, using: &generator) != 0
                downlink.hasAudio = Int.random(in: 0..<4, using: &generator) != 0
                if !isDownlinkGood {
                    downlink.selection = [.full, .reduced, .audioOnly, .nothing].randomElement(using: &generator)!
                    downlink.evidence.estimate = .kilobits(Int64.random(in: 30...4_000, using: &generator))
                    downlink.evidence.loss = Double.random(in: 0...1, using: &generator)
                    downlink.reports = Bool.random(using: &generator) ? 2 : nil
                }
                downlink.run(Double.random(in: 0.5...6, using: &generator))
            }
            for row in downlink.rows {
                if isDownlinkGood { #expect(row.reason != .downloadLimited && row != .row(.noData, .none)) }
                if isPublisherGood { #expect(row.reason != .publisherLimited && row.reason != .networkLimited) }
                #expect(row.reason != .uploadLimited)
            }
            seen.formUnion(downlink.rows)
        }
        #expect(seen.count == 12, "each row of the table was reported")
    }

    @Test("consecutive rows differ, and a layer that alternates is reported rarely")
    func order() {
        var downlink = Downlink()
        downlink.run(10)
        for _ in 0..<60 {
            downlink.selection = .reduced
            downlink.run(1)
            downlink.selection = .full
            downlink.run(1.5)
        }
        for (before, after) in zip([DataQuality.good] + downlink.rows, downlink.rows) { #expect(before != after) }
        #expect(downlink.rows.count <= 4, "\(downlink.rows.count) rows in two and a half minutes")
    }
}
