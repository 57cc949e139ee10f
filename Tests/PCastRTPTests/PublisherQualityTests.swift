import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

/// A publisher and its uplink from the platform's view.
private struct Uplink {
    var clock = QualityClock()
    var machine = PublisherQuality()
    var video: Double? = 200
    var audio: Double? = 50
    var withheld: Set<MediaType> = []
    var paused: Set<MediaType> = []
    var evidence = LinkLimitation.Evidence(estimate: .kilobits(3_000), wanted: .kilobits(2_000), loss: 0)
    var isVideoCut = false
    var isAway = false
    var isLowered = false
    private var packets: [MediaType: Double] = [:]
    private var hasVideo = true
    private var hasAudio = true

    init(video: Bool = true, audio: Bool = true) {
        hasVideo = video
        hasAudio = audio
    }

    mutating func run(_ seconds: Double) {
        var copy = self
        copy.clock.run(seconds) { now in
            packets[.video, default: 0] += (video ?? 0) / 2
            packets[.audio, default: 0] += (audio ?? 0) / 2
            return machine.observe(
                PublisherQuality.Observation(
                    video: hasVideo ? track(.video) : nil, audio: hasAudio ? track(.audio) : nil, uplink: evidence,
                    isVideoCut: isVideoCut, isAway: isAway, isLowered: isLowered), at: now)
        }
        clock = copy.clock
    }

    private func track(_ type: MediaType) -> PublisherQuality.Track {
        PublisherQuality.Track(
            packets: Int(packets[type] ?? 0), isWithheld: withheld.contains(type), isPaused: paused.contains(type))
    }

    /// Cuts the network: without arrivals nothing is known of the uplink.
    mutating func cut() {
        video = nil
        audio = nil
        evidence = LinkLimitation.Evidence()
    }

    mutating func narrow() { evidence.estimate = .kilobits(900) }
    mutating func widen() { evidence.estimate = .kilobits(2_500) }

    var rows: [DataQuality] { clock.rows }
    var delays: [Double] { clock.received.map(\.at) }
}

@Suite("The data quality of a publisher")
struct PublisherQualityTests {
    @Test("a good network causes no report, also before the first packet")
    func good() {
        var uplink = Uplink()
        uplink.video = nil
        uplink.audio = nil
        uplink.run(20)
        uplink.video = 200
        uplink.audio = 50
        uplink.run(60)
        #expect(uplink.rows.isEmpty)
        #expect(uplink.machine.quality == .good)
    }

    // MARK: Each row by its cause

    @Test("NoData, None: nothing arrives any more, and there was no problem before")
    func noDataNone() throws {
        var uplink = Uplink()
        uplink.run(10)
        uplink.cut()
        uplink.run(4)
        #expect(uplink.rows == [.row(.noData, .none)])
        #expect(try #require(uplink.delays.first) - 10 <= 1.5)
        uplink.video = 200
        uplink.audio = 50
        uplink.run(3)
        #expect(uplink.rows == [.row(.noData, .none), .good])
        #expect(uplink.delays[1] - 14 <= 2)
    }

    @Test("NoData, UploadLimited: nothing arrives any more over an uplink that was limited", arguments: [true, false])
    func noDataUploadLimited(byLoss: Bool) {
        var uplink = Uplink()
        uplink.run(10)
        if byLoss { uplink.evidence.loss = 0.6 } else { uplink.narrow() }
        uplink.run(3)
        uplink.cut()
        // This is longer than a limit is remembered. The reason remains while the silence lasts.
        uplink.run(20)
        #expect(uplink.rows == [.row(.all, .uploadLimited), .row(.noData, .uploadLimited)])
    }

    @Test("All, UploadLimited: the estimate is below the publisher's wanted rate; otherwise All, None")
    func allUploadLimited() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.narrow()
        uplink.run(10)
        #expect(uplink.rows == [.row(.all, .uploadLimited)])
        #expect((1...2).contains(uplink.delays[0] - 10))
        uplink.widen()
        uplink.run(10)
        #expect(uplink.rows == [.row(.all, .uploadLimited), .good])
        #expect((3...5.5).contains(uplink.delays[1] - 20))
    }

    @Test("All, UploadLimited: high loss, but not low loss")
    func allUploadLimitedByLoss() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.evidence.loss = 0.1
        uplink.run(10)
        #expect(uplink.rows.isEmpty, "repaired losses are not a limit")
        uplink.evidence.loss = 0.2
        uplink.run(10)
        #expect(uplink.rows == [.row(.all, .uploadLimited)])
    }

    @Test("All, NetworkLimited: reduced for the viewers, unless its own uplink is the limit")
    func allNetworkLimited() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.isLowered = true
        uplink.run(10)
        #expect(uplink.rows == [.row(.all, .networkLimited)])
        uplink.isLowered = false
        uplink.run(5)
        #expect(uplink.machine.quality == .good)
        uplink.clock.discard()
        uplink.narrow()
        uplink.isLowered = true
        uplink.run(5)
        #expect(uplink.machine.quality == .row(.all, .uploadLimited))
    }

    @Test("AudioOnly, UploadLimited: no video over a limited uplink, or the publisher reports that it stopped it")
    func audioOnlyUploadLimited() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.narrow()
        uplink.run(3)
        uplink.video = nil
        uplink.run(3)
        #expect(uplink.rows == [.row(.all, .uploadLimited), .row(.audioOnly, .uploadLimited)])
        #expect(uplink.machine.hasVideo)
        var saying = Uplink()
        saying.run(10)
        saying.isVideoCut = true
        saying.video = nil
        saying.run(2)
        #expect(saying.rows == [.row(.audioOnly, .uploadLimited)])
        saying.isVideoCut = false
        saying.video = 200
        saying.run(3)
        #expect(saying.machine.quality == .good)
    }

    @Test("AudioOnly, NetworkLimited: reduced for the viewers until no video remains, on either side")
    func audioOnlyNetworkLimited() {
        for isToldByPublisher in [true, false] {
            var uplink = Uplink()
            uplink.run(10)
            uplink.isLowered = true
            uplink.isVideoCut = isToldByPublisher
            uplink.video = nil
            uplink.run(4)
            #expect(uplink.rows.last == .row(.audioOnly, .networkLimited))
            #expect(uplink.rows.allSatisfy { $0.reason == .networkLimited })
        }
        var soundless = Uplink(audio: false)
        soundless.audio = nil
        soundless.run(10)
        soundless.isLowered = true
        soundless.video = nil
        soundless.run(4)
        #expect(soundless.rows.last == .row(.audioOnly, .networkLimited))
    }

    // MARK: Other causes

    @Test("a camera that is covered, removed or paused is not a network problem")
    func localInterruptions() {
        for isSaid in [true, false] {
            var uplink = Uplink()
            uplink.run(10)
            uplink.video = nil
            if isSaid { uplink.withheld = [.video] }
            uplink.run(10)
            #expect(uplink.rows.isEmpty)
            #expect(!uplink.machine.hasVideo, "viewers receive that there is no video")
            #expect(uplink.machine.hasAudio)
            uplink.withheld = []
            uplink.video = 200
            uplink.run(5)
            #expect(uplink.machine.hasVideo)
            uplink.audio = nil
            uplink.run(5)
            #expect(uplink.rows.isEmpty, "a muted microphone is not a limit")
        }
    }

    @Test("a stream whose tracks are all paused is not silent, but it is if one of them is due")
    func withheld() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.withheld = [.video, .audio]
        uplink.video = nil
        uplink.audio = nil
        uplink.run(30)
        #expect(uplink.rows.isEmpty)
        uplink.withheld = [.video]
        uplink.audio = 50
        uplink.run(2)
        uplink.audio = nil
        uplink.run(2)
        #expect(uplink.rows == [.row(.noData, .none)])
    }

    @Test("an unused track is available, not missing, and is due when it is used")
    func paused() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.paused = [.video, .audio]
        uplink.video = nil
        uplink.audio = nil
        uplink.run(60)
        #expect(uplink.rows.isEmpty)
        #expect(uplink.machine.hasVideo && uplink.machine.hasAudio)
        uplink.paused = []
        uplink.run(0.5)
        #expect(uplink.rows.isEmpty, "the change is not immediate")
        uplink.run(2)
        #expect(uplink.rows == [.row(.noData, .none)])
    }

    @Test("AudioOnly, NetworkLimited also if the viewers' bandwidth permits no video and it is paused")
    func pausedForViewerBandwidth() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.isLowered = true
        uplink.paused = [.video]
        uplink.video = nil
        uplink.run(10)
        #expect(uplink.rows == [.row(.audioOnly, .networkLimited)])
        #expect(uplink.machine.hasVideo)
    }

    @Test("video that starts later than audio is available")
    func late() {
        var uplink = Uplink()
        uplink.video = nil
        for _ in 0..<5 {
            uplink.run(0.5)
            #expect(uplink.machine.hasVideo)
        }
        uplink.run(2)
        #expect(!uplink.machine.hasVideo)
        #expect(uplink.rows.isEmpty)
    }

    @Test("rare packets have a longer timeout: audio of a silent room, a screen without motion")
    func seldom() {
        var room = Uplink(video: false)
        room.video = nil
        room.audio = 2
        room.run(30)
        #expect(room.rows.isEmpty)
        room.audio = nil
        room.run(3)
        #expect(room.rows.isEmpty)
        room.run(2)
        #expect(room.rows == [.row(.noData, .none)])
    }

    @Test("a disconnected publisher is NoData, whatever was expected")
    func away() {
        var uplink = Uplink()
        uplink.run(5)
        uplink.withheld = [.video, .audio]
        uplink.run(5)
        uplink.isAway = true
        uplink.run(1)
        #expect(uplink.rows == [.row(.noData, .none)])
    }

    // MARK: Hysteresis

    @Test("an estimate around a threshold changes no row twice")
    func varyingEstimate() {
        var uplink = Uplink()
        uplink.run(10)
        for round in 0..<60 {
            uplink.evidence.estimate = .kilobits(round.isMultiple(of: 2) ? 1_600 : 1_850)
            uplink.run(1.5)
        }
        #expect(uplink.rows.count <= 1)
        uplink.evidence.estimate = .kilobits(2_000)
        uplink.run(10)
        #expect(uplink.machine.quality == .good)
        #expect(uplink.rows.count <= 2)
    }

    @Test("a short decrease is not reported, and neither is a stall of 200 ms")
    func shortDecreases() {
        var uplink = Uplink()
        uplink.run(10)
        for _ in 0..<20 {
            uplink.narrow()
            uplink.run(0.5)
            uplink.widen()
            uplink.run(4.5)
        }
        #expect(uplink.rows.isEmpty)
    }

    @Test("an unstable connection is trusted more slowly each time")
    func relapses() {
        var uplink = Uplink()
        uplink.run(10)
        for _ in 0..<30 {
            uplink.cut()
            uplink.run(2)
            uplink.video = 200
            uplink.audio = 50
            uplink.run(2)
        }
        #expect(uplink.rows.count <= 8, "\(uplink.rows.count) rows in two minutes")
        uplink.run(20)
        #expect(uplink.machine.quality == .good)
    }

    @Test("rows of the viewers' table are never reported to a publisher")
    func closedTable() {
        var generator = SeededGenerator(seed: 4)
        let table: Set<DataQuality> = [
            .row(.noData, .none), .row(.noData, .uploadLimited), .row(.all, .none), .row(.all, .uploadLimited),
            .row(.all, .networkLimited), .row(.audioOnly, .uploadLimited), .row(.audioOnly, .networkLimited),
        ]
        var seen: Set<DataQuality> = []
        for _ in 0..<300 {
            var uplink = Uplink(video: .random(using: &generator), audio: true)
            for _ in 0..<30 {
                uplink.video = Bool.random(using: &generator) ? 200 : nil
                uplink.audio = Bool.random(using: &generator) ? 50 : nil
                uplink.withheld = Bool.random(using: &generator) ? [] : [.video]
                uplink.isLowered = Int.random(in: 0..<3, using: &generator) == 0
                uplink.isVideoCut = Int.random(in: 0..<5, using: &generator) == 0
                uplink.isAway = Int.random(in: 0..<8, using: &generator) == 0
                let loss = Double.random(in: 0...1, using: &generator)
                uplink.evidence.loss = Bool.random(using: &generator) ? loss : nil
                uplink.evidence.estimate = .kilobits(Int64.random(in: 50...4_000, using: &generator))
                uplink.run(Double.random(in: 0.5...6, using: &generator))
            }
            seen.formUnion(uplink.rows)
            for (before, after) in zip([DataQuality.good] + uplink.rows, uplink.rows) { #expect(before != after) }
        }
        #expect(seen == table)
    }
}
