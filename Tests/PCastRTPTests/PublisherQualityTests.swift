import PCastCore
import PCastNetworkEmulation
import PCastRTP
import Testing

/// A publisher and its uplink, as the platform sees them.
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

    /// As the network does: with nothing that arrives nothing is known of the uplink.
    mutating func cut() {
        video = nil
        audio = nil
        evidence = LinkLimitation.Evidence()
    }

    mutating func narrow() { evidence.estimate = .kilobits(900) }
    mutating func widen() { evidence.estimate = .kilobits(2_500) }

    var rows: [DataQuality] { clock.rows }
    var delays: [Double] { clock.told.map(\.at) }
}

@Suite("Data quality of a publisher")
struct PublisherQualityTests {
    @Test("On a good network nothing is told, from before the first packet on")
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

    @Test("NoData, None: nothing arrives any more, and nothing was wrong before")
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
        // For longer than a limit is remembered: the reason stays while it lasts.
        uplink.run(20)
        #expect(uplink.rows == [.row(.all, .uploadLimited), .row(.noData, .uploadLimited)])
    }

    @Test("All, UploadLimited: the estimate is too small for what the publisher wants, and All, None when it is not")
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

    @Test("All, UploadLimited: much is lost, and not a little")
    func allUploadLimitedByLoss() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.evidence.loss = 0.1
        uplink.run(10)
        #expect(uplink.rows.isEmpty, "what repair makes up for is no limit")
        uplink.evidence.loss = 0.2
        uplink.run(10)
        #expect(uplink.rows == [.row(.all, .uploadLimited)])
    }

    @Test("All, NetworkLimited: lowered for the viewers, and not when its own uplink is what limits it")
    func allNetworkLimited() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.isLowered = true
        uplink.run(10)
        #expect(uplink.rows == [.row(.all, .networkLimited)])
        uplink.isLowered = false
        uplink.run(5)
        #expect(uplink.machine.quality == .good)
        uplink.clock.forget()
        uplink.narrow()
        uplink.isLowered = true
        uplink.run(5)
        #expect(uplink.machine.quality == .row(.all, .uploadLimited))
    }

    @Test("AudioOnly, UploadLimited: no picture comes over an uplink that is limited, or the publisher says it cut it")
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

    @Test("AudioOnly, NetworkLimited: lowered for the viewers until no picture was left, whoever left it out")
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

    // MARK: What is no cause

    @Test("A camera that is covered, taken away or held back is no matter of the network")
    func ownDoing() {
        for isSaid in [true, false] {
            var uplink = Uplink()
            uplink.run(10)
            uplink.video = nil
            if isSaid { uplink.withheld = [.video] }
            uplink.run(10)
            #expect(uplink.rows.isEmpty)
            #expect(!uplink.machine.hasVideo, "and viewers are told that there is no picture")
            #expect(uplink.machine.hasAudio)
            uplink.withheld = []
            uplink.video = 200
            uplink.run(5)
            #expect(uplink.machine.hasVideo)
            uplink.audio = nil
            uplink.run(5)
            #expect(uplink.rows.isEmpty, "neither is a microphone that is muted")
        }
    }

    @Test("All that is held back is no silence; when one of them should come, it is")
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

    @Test("What nobody takes is not missed, and is there to be had; when somebody takes it, it is due")
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
        #expect(uplink.rows.isEmpty, "it takes a moment")
        uplink.run(2)
        #expect(uplink.rows == [.row(.noData, .none)])
    }

    @Test("AudioOnly, NetworkLimited, too, where no viewer has room for a picture and the publisher rests it")
    func restedForViewers() {
        var uplink = Uplink()
        uplink.run(10)
        uplink.isLowered = true
        uplink.paused = [.video]
        uplink.video = nil
        uplink.run(10)
        #expect(uplink.rows == [.row(.audioOnly, .networkLimited)])
        #expect(uplink.machine.hasVideo)
    }

    @Test("A picture that begins later than the sound is there to be had")
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

    @Test("What comes seldom is waited for longer: sound of a silent room, a screen on which nothing moves")
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

    @Test("Who is away sends nothing, whatever was expected")
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

    @Test("An estimate that swings about a threshold changes no row twice")
    func swings() {
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

    @Test("A moment's dip is not told, nor a stall of 200 ms")
    func dips() {
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

    @Test("A connection that comes and goes is believed more slowly each time")
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

    @Test("Rows of the viewers' table are never told to a publisher, whatever is observed")
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
