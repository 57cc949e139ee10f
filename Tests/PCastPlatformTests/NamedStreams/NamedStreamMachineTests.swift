import PCastCore
import Testing

@testable import PCastPlatform

/// The decisions about a declared stream, on virtual time.
@Suite("Decisions about named streams")
struct NamedStreamMachineTests {
    /// A stream with publishers that send media every 20 ms.
    private struct Scene {
        var machine: NamedStreamMachine
        var now = Instant(nanoseconds: 0)
        /// The publishers that send media, and whether a decoder can begin with them.
        var sending: [StreamID: Bool] = [:]
        private var arrivals: [StreamID: NamedStreamMachine.Arrivals] = [:]
        private(set) var outputs: [(output: NamedStreamMachine.Output, at: Instant)] = []

        init(makesSlates: Bool = false, _ change: (inout StreamDeclaration) -> Void = { _ in }) {
            var declaration = StreamDeclaration(name: "camera")
            change(&declaration)
            machine = NamedStreamMachine(declaration, makesSlates: makesSlates, at: now)
            take()
        }

        mutating func take() { for output in machine.takeOutputs() { outputs.append((output, now)) } }

        mutating func run(_ span: TimeSpan) {
            let end = now + span
            while now < end {
                now = now + .milliseconds(20)
                for (id, isDecodable) in sending {
                    arrivals[id] = NamedStreamMachine.Arrivals(last: now, isDecodable: isDecodable)
                }
                machine.advance(to: now, arrivals)
                take()
            }
        }

        mutating func join(_ name: String, _ role: NamedStreamMachine.Role = .publisher, sends: Bool = true) {
            machine.joined(StreamID(name), role, at: now)
            if sends { sending[StreamID(name)] = true }
            take()
        }

        mutating func leave(_ name: String) {
            sending[StreamID(name)] = nil
            machine.left(StreamID(name), at: now)
            take()
        }

        mutating func setViewers(_ count: Int) {
            machine.setViewers(count, at: now)
            take()
        }

        mutating func jobEnded(_ role: NamedStreamMachine.Role) {
            machine.jobEnded(role, at: now)
            take()
        }

        /// The outputs since the last call.
        mutating func takeOutputs() -> [NamedStreamMachine.Output] {
            defer { outputs = [] }
            return outputs.map(\.output)
        }

        func time(of output: NamedStreamMachine.Output) -> Instant? {
            outputs.first { $0.output == output }?.at
        }
    }

    private static func id(_ name: String) -> StreamID { StreamID(name) }

    // MARK: Sources

    @Test("a source that is not on demand starts at once")
    func permanentSource() {
        var scene = Scene { $0.source = "rtsp://camera.example/1" }
        #expect(scene.takeOutputs() == [.startSource])
    }

    @Test("a source on demand starts with the first viewer, and closes after the last one has left")
    func onDemand() {
        var scene = Scene {
            $0.source = "rtsp://camera.example/1"
            $0.isOnDemand = true
            $0.closeAfter = .seconds(5)
        }
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [])
        #expect(scene.machine.isIdle)
        scene.setViewers(1)
        #expect(scene.takeOutputs() == [.demanded, .startSource])
        scene.join("a", .source)
        scene.run(.milliseconds(40))
        #expect(
            scene.takeOutputs() == [
                .open(like: Self.id("a")), .select(Self.id("a")), .switched(to: Self.id("a"), .began),
            ])
        scene.setViewers(2)
        scene.setViewers(0)
        let left = scene.now
        scene.run(.milliseconds(4_900))
        #expect(scene.outputs.isEmpty)
        scene.run(.milliseconds(200))
        #expect(scene.time(of: .stopSource).map { $0 - left } == .seconds(5))
        scene.leave("a")
        scene.run(.seconds(1))
        #expect(scene.takeOutputs() == [.stopSource, .close])
        #expect(scene.machine.isIdle)
    }

    @Test("a viewer who returns in time keeps the source open")
    func returningViewer() {
        var scene = Scene {
            $0.source = "file:///film.mp4"
            $0.isOnDemand = true
        }
        scene.setViewers(1)
        scene.join("a", .source)
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.setViewers(0)
        scene.run(.seconds(9))
        scene.setViewers(1)
        scene.run(.seconds(20))
        #expect(scene.takeOutputs() == [])
    }

    @Test("a source that cannot be opened is retried with increasing waits of at most 30 s")
    func backOff() {
        var scene = Scene { $0.source = "rtsp://camera.example/1" }
        var starts: [Instant] = []
        for _ in 0..<10 {
            while scene.takeOutputs() != [.startSource] { scene.run(.milliseconds(20)) }
            starts.append(scene.now)
            scene.jobEnded(.source)
        }
        let waits = zip(starts, starts.dropFirst()).map { Int(($1 - $0).milliseconds) }
        #expect(waits == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
    }

    @Test("a source that worked for a while is restarted soon")
    func restartAfterWork() {
        var scene = Scene { $0.source = "rtsp://camera.example/1" }
        for _ in 0..<5 {
            scene.jobEnded(.source)
            scene.run(.seconds(31))
        }
        scene.jobEnded(.source)
        _ = scene.takeOutputs()
        scene.run(.milliseconds(520))
        #expect(scene.takeOutputs() == [.startSource])
    }

    @Test("a source on demand is not retried after its viewers have left")
    func noRetryWithoutViewers() {
        var scene = Scene {
            $0.source = "rtsp://camera.example/1"
            $0.isOnDemand = true
            $0.closeAfter = .zero
        }
        scene.setViewers(1)
        scene.jobEnded(.source)
        scene.setViewers(0)
        _ = scene.takeOutputs()
        scene.run(.seconds(120))
        #expect(scene.takeOutputs() == [])
        #expect(scene.machine.isIdle)
    }

    // MARK: Publishers

    @Test("the stream opens when a decoder can begin, and stays open while its publisher is absent and viewers watch")
    func absentPublisher() {
        var scene = Scene()
        scene.join("a", sends: false)
        scene.sending[Self.id("a")] = false
        scene.run(.seconds(1))
        #expect(scene.takeOutputs() == [])
        scene.sending[Self.id("a")] = true
        scene.run(.milliseconds(20))
        #expect(scene.takeOutputs().first == .open(like: Self.id("a")))
        scene.setViewers(1)
        scene.leave("a")
        scene.run(.seconds(600))
        #expect(scene.takeOutputs() == [])
        scene.join("b")
        scene.run(.milliseconds(20))
        #expect(scene.takeOutputs() == [.select(Self.id("b")), .switched(to: Self.id("b"), .left)])
    }

    @Test("a stream without publishers and viewers ends after a while, and one with viewers after an hour")
    func ends() {
        var scene = Scene()
        scene.join("a")
        scene.run(.seconds(20))
        scene.leave("a")
        _ = scene.takeOutputs()
        scene.run(.seconds(9))
        #expect(scene.takeOutputs() == [])
        scene.run(.seconds(2))
        #expect(scene.takeOutputs() == [.close])
        scene.join("b")
        scene.run(.seconds(1))
        scene.setViewers(1)
        scene.leave("b")
        _ = scene.takeOutputs()
        scene.run(.seconds(3_590))
        #expect(scene.takeOutputs() == [])
        scene.run(.seconds(20))
        #expect(scene.takeOutputs() == [.close])
    }

    @Test("a new publisher replaces the former one when a decoder can begin with it")
    func replacement() {
        var scene = Scene()
        scene.join("a")
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.join("b", sends: false)
        scene.run(.seconds(1))
        #expect(scene.takeOutputs() == [])
        scene.sending[Self.id("b")] = true
        scene.run(.milliseconds(20))
        #expect(
            scene.takeOutputs() == [
                .select(Self.id("b")), .switched(to: Self.id("b"), .replaced), .end(Self.id("a")),
            ])
    }

    @Test("the number of publishers of a name is limited")
    func publisherLimit() {
        var scene = Scene { $0.hasStandby = true }
        for number in 0..<NamedStreamMachine.maximumPublishers {
            #expect(scene.machine.hasSpace)
            scene.join("p\(number)")
        }
        #expect(!scene.machine.hasSpace)
    }

    // MARK: Standby

    @Test("a publisher that stands by takes over after 200 ms of silence, and the first one returns when it is steady")
    func takeover() throws {
        var scene = Scene { $0.hasStandby = true }
        scene.join("a")
        scene.run(.milliseconds(100))
        scene.join("b")
        scene.run(.seconds(5))
        #expect(
            scene.takeOutputs() == [
                .open(like: Self.id("a")), .select(Self.id("a")), .switched(to: Self.id("a"), .began),
            ])
        scene.sending[Self.id("a")] = nil
        let unplugged = scene.now
        scene.run(.seconds(5))
        #expect(scene.time(of: .select(Self.id("b"))).map { $0 - unplugged } == .milliseconds(200))
        #expect(scene.takeOutputs() == [.select(Self.id("b")), .switched(to: Self.id("b"), .silent)])
        scene.sending[Self.id("a")] = true
        let plugged = scene.now
        scene.run(.seconds(5))
        let returned = try #require(scene.time(of: .select(Self.id("a"))))
        #expect(returned - plugged >= NamedStreamMachine.returnTime)
        #expect(scene.takeOutputs() == [.select(Self.id("a")), .switched(to: Self.id("a"), .returned)])
    }

    @Test("the stream does not return to the first publisher if that is not declared")
    func noReturn() {
        var scene = Scene {
            $0.hasStandby = true
            $0.switchesBack = false
        }
        scene.join("a")
        scene.run(.milliseconds(100))
        scene.join("b")
        scene.run(.seconds(1))
        scene.sending[Self.id("a")] = nil
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.sending[Self.id("a")] = true
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [])
    }

    @Test("a silence of all publishers, such as that of a busy machine, switches nothing")
    func commonSilence() {
        var scene = Scene { $0.hasStandby = true }
        scene.join("a")
        scene.run(.milliseconds(100))
        scene.join("b")
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        let sending = scene.sending
        scene.sending = [:]
        scene.run(.seconds(1))
        scene.sending = sending
        scene.run(.seconds(1))
        #expect(scene.takeOutputs() == [])
    }

    @Test("an operator selects the publisher that stands by, and the stream does not switch back by itself")
    func operated() {
        var scene = Scene { $0.hasStandby = true }
        scene.join("a")
        scene.run(.milliseconds(100))
        #expect(scene.machine.switchToStandby(at: scene.now) == false)
        scene.join("b")
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        let isSwitched = scene.machine.switchToStandby(at: scene.now)
        #expect(isSwitched)
        scene.take()
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [.select(Self.id("b")), .switched(to: Self.id("b"), .operated)])
    }

    // MARK: Fallback

    @Test("the fallback fills the time without a publisher, and ends after it")
    func fallback() {
        var scene = Scene { $0.fallback = .file("slate.mp4") }
        scene.join("a")
        scene.run(.seconds(1))
        scene.setViewers(1)
        _ = scene.takeOutputs()
        scene.leave("a")
        scene.run(.milliseconds(280))
        #expect(scene.takeOutputs() == [])
        scene.run(.milliseconds(40))
        #expect(scene.takeOutputs() == [.startFallback])
        scene.join("slate", .fallback)
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [.select(Self.id("slate")), .switched(to: Self.id("slate"), .fallback)])
        scene.join("b")
        scene.run(.seconds(1))
        #expect(
            scene.takeOutputs() == [.select(Self.id("b")), .switched(to: Self.id("b"), .returned), .stopFallback])
    }

    @Test("a fallback is not started without viewers")
    func fallbackWithoutViewers() {
        var scene = Scene { $0.fallback = .file("slate.mp4") }
        scene.join("a")
        scene.run(.seconds(1))
        scene.leave("a")
        _ = scene.takeOutputs()
        scene.run(.seconds(5))
        #expect(scene.takeOutputs() == [])
    }

    @Test("a slate fills the time without a publisher after the first frame, while there are viewers")
    func slate() {
        var scene = Scene(makesSlates: true)
        scene.setViewers(1)
        scene.run(.seconds(5))
        #expect(scene.takeOutputs() == [], "there is no frame that a slate could show")
        scene.join("a")
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.leave("a")
        scene.run(.milliseconds(280))
        #expect(scene.takeOutputs() == [])
        scene.run(.milliseconds(40))
        #expect(scene.takeOutputs() == [.startFallback])
        scene.join("slate", .fallback)
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [.select(Self.id("slate")), .switched(to: Self.id("slate"), .fallback)])
        scene.setViewers(0)
        #expect(scene.takeOutputs() == [.stopFallback])
        scene.leave("slate")
        scene.run(.seconds(25))
        #expect(scene.takeOutputs() == [.close])
    }

    @Test("there is no slate without a text, and none if the platform makes none", arguments: [true, false])
    func withoutSlate(makesSlates: Bool) {
        var scene = Scene(makesSlates: makesSlates) { if makesSlates { $0.slate = "" } }
        scene.join("a")
        scene.setViewers(1)
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.leave("a")
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [])
    }

    @Test("the first viewers of a source that cannot be opened receive the fallback")
    func fallbackAtFirst() {
        var scene = Scene {
            $0.source = "rtsp://camera.example/1"
            $0.isOnDemand = true
            $0.fallback = .stream("other")
        }
        scene.setViewers(1)
        _ = scene.takeOutputs()
        scene.run(.milliseconds(1_980))
        #expect(scene.takeOutputs() == [])
        scene.run(.milliseconds(40))
        #expect(scene.takeOutputs() == [.startFallback])
        scene.join("slate", .fallback)
        scene.run(.milliseconds(20))
        #expect(scene.takeOutputs().first == .open(like: Self.id("slate")))
    }

    // MARK: Control

    @Test("a stream that an operator switches off ends with its publishers and its source, and returns when it is on")
    func off() {
        var scene = Scene { $0.source = "rtsp://camera.example/1" }
        scene.join("a", .source)
        scene.join("b")
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.machine.setOn(false, at: scene.now)
        scene.take()
        #expect(scene.takeOutputs() == [.end(Self.id("b")), .close, .stopSource])
        #expect(!scene.machine.hasSpace)
        scene.leave("a")
        scene.leave("b")
        scene.run(.seconds(60))
        #expect(scene.takeOutputs() == [])
        scene.machine.setOn(true, at: scene.now)
        scene.take()
        #expect(scene.takeOutputs() == [.startSource])
    }

    @Test("a stream that was ended is opened again after a second")
    func reopening() {
        var scene = Scene()
        scene.join("a")
        scene.run(.seconds(1))
        _ = scene.takeOutputs()
        scene.machine.closed(at: scene.now)
        scene.take()
        scene.run(.milliseconds(980))
        #expect(scene.takeOutputs() == [])
        scene.run(.milliseconds(40))
        #expect(scene.takeOutputs().first == .open(like: Self.id("a")))
    }
}
