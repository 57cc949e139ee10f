import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

@Suite("The source slot of a track", .timeLimit(.minutes(5)))
struct SourceSlotTests {
    @Test("a lost device is replaced at once, and continues when it is back")
    func absence() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        let first = bench.latest
        first.deliver("one")
        bench.isPlugged = false
        first.end(.vanished("unplugged"))
        #expect(await bench.next { $0 == "black" } == "black")
        #expect(!slot.isOpen)
        first.deliver("late")
        bench.isPlugged = true
        await bench.opened(2)
        bench.latest.deliver("back")
        #expect(await bench.next { $0 != "black" } == "back")
        #expect(slot.isOpen)
        slot.stop()
        #expect(bench.latest.isStopped)
    }

    @Test("a device that stays away too long fails the track with a reason")
    func impatience() async throws {
        let bench = Bench()
        let slot = try bench.slot(timeout: .milliseconds(1))
        bench.isPlugged = false
        bench.latest.end(.vanished("unplugged"))
        guard case .failed(let reason) = await bench.end else {
            Issue.record("the source ended for another reason")
            return
        }
        #expect(reason.hasPrefix("unplugged"))
        slot.stop()
    }

    @Test("another source replaces the first without an end, and the first is stopped and silent")
    func replacement() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        let former = bench.latest
        try slot.replace(isSameDevice: false, opening: { () throws(DeviceError) in try bench.open() })
        #expect(former.isStopped)
        former.deliver("former")
        bench.latest.deliver("latter")
        #expect(await bench.next { _ in true } == "latter")
        slot.stop()
    }

    @Test("an unavailable format leaves the track unchanged", arguments: [true, false])
    func failedReplacement(isSameDevice: Bool) async throws {
        let bench = Bench()
        let slot = try bench.slot()
        #expect(throws: DeviceError.busy("other")) {
            try slot.replace(
                isSameDevice: isSameDevice, opening: { () throws(DeviceError) in throw DeviceError.busy("other") })
        }
        bench.latest.deliver("still here")
        #expect(await bench.next { _ in true } == "still here")
        slot.stop()
    }

    @Test("a source that fails to start leaves the track unchanged")
    func failedStart() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        let former = bench.latest
        #expect(throws: DeviceError.busy("stream")) {
            try slot.replace(
                isSameDevice: false,
                opening: { () throws(DeviceError) in ScriptedSource(refusal: .busy("stream")) })
        }
        former.deliver("still here")
        #expect(await bench.next { _ in true } == "still here")
        slot.stop()
    }

    @Test("a source that ends during its start is replaced like any other")
    func endsWhileTaking() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        try slot.replace(
            isSameDevice: false,
            opening: { () throws(DeviceError) in ScriptedSource(endAtStart: .vanished("loose plug")) })
        #expect(await bench.next { $0 == "black" } == "black")
        slot.stop()
    }

    @Test("a slot that has not started accepts another source")
    func replacedBeforeStart() async throws {
        let bench = Bench()
        let slot = try bench.slot(start: false)
        try slot.replace(isSameDevice: true, opening: { () throws(DeviceError) in try bench.open() })
        try bench.start(slot)
        bench.latest.deliver("second")
        #expect(await bench.next { _ in true } == "second")
        slot.stop()
    }

    @Test("a paused slot releases its device, and opens it again")
    func rest() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        slot.rest()
        #expect(bench.latest.isStopped && !slot.isOpen)
        slot.rest()
        slot.resume()
        #expect(slot.isOpen)
        bench.latest.deliver("again")
        #expect(await bench.next { _ in true } == "again")
        slot.stop()
    }

    @Test("a device that is missing on resume is replaced and awaited")
    func resumeWithoutDevice() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        slot.rest()
        bench.isPlugged = false
        slot.resume()
        #expect(await bench.next { $0 == "black" } == "black")
        bench.isPlugged = true
        await bench.opened(2)
        bench.latest.deliver("back")
        #expect(await bench.next { $0 != "black" } == "back")
        slot.stop()
    }

    @Test("a source's own end is reported once, and never after a stop")
    func ends() async throws {
        let bench = Bench()
        let slot = try bench.slot()
        bench.latest.end(.ended)
        #expect(await bench.end == .ended)
        slot.stop()
        slot.stop()
        #expect(bench.latest.isStopped)
        let other = Bench()
        let stopped = try other.slot()
        stopped.stop()
        other.latest.end(.failed("after stop"))
        other.latest.deliver("after stop")
        #expect(other.ends == 0 && other.samples == 0)
    }

    @Test("a delivery can stop the slot")
    func stopFromDelivery() throws {
        let bench = Bench()
        let slot = try bench.slot(start: false)
        try slot.start(deliver: { _ in slot.stop() }, ended: { _ in })
        bench.latest.deliver("one")
        bench.latest.deliver("two")
        #expect(bench.latest.isStopped)
    }
}

/// A device that tests connect and disconnect, and the samples that the slot delivered.
private final class Bench: Sendable {
    private let sources = Mutex<[ScriptedSource]>([])
    private let plugged = Mutex(true)
    private let counts = Mutex((samples: 0, ends: 0))
    private let delivered = AsyncStream<String>.makeStream()
    private let endings = AsyncStream<SourceEnd>.makeStream()
    private let openings = AsyncStream<Int>.makeStream()

    var latest: ScriptedSource { sources.withLock { $0[$0.count - 1] } }
    var samples: Int { counts.withLock { $0.samples } }
    var ends: Int { counts.withLock { $0.ends } }
    var isPlugged: Bool {
        get { plugged.withLock { $0 } }
        set { plugged.withLock { $0 = newValue } }
    }

    func open() throws(DeviceError) -> any MediaSource<String> {
        guard isPlugged else { throw .notFound("camera", lookedIn: "the bench") }
        let source = ScriptedSource { [openings] in openings.continuation.yield($0) }
        let count = sources.withLock { sources in
            sources.append(source)
            return sources.count
        }
        source.number = count
        return source
    }

    /// Creates a source. The timeout is longer than the test unless it is examined, because on a busy machine the test
    /// may wait while the source's own thread runs.
    func slot(timeout: TimeSpan = .seconds(3_600), start: Bool = true) throws -> SwitchableSource<String> {
        let slot = SwitchableSource<String>(
            name: "bench", source: try open(), timeout: timeout,
            opening: { [self] () throws(DeviceError) in try open() },
            substitute: { .init(interval: .milliseconds(5), sample: { _ in "black" }) })
        if start { try self.start(slot) }
        return slot
    }

    func start(_ slot: SwitchableSource<String>) throws {
        try slot.start(
            deliver: { [self] sample in
                counts.withLock { $0.samples += 1 }
                delivered.continuation.yield(sample)
            },
            ended: { [self] end in
                counts.withLock { $0.ends += 1 }
                endings.continuation.yield(end)
            })
    }

    func next(_ isWanted: (String) -> Bool) async -> String? {
        for await sample in delivered.stream where isWanted(sample) { return sample }
        return nil
    }

    /// Waits until the source of this number was started.
    func opened(_ number: Int) async {
        for await started in openings.stream where started >= number { return }
    }

    var end: SourceEnd? {
        get async {
            for await end in endings.stream { return end }
            return nil
        }
    }
}

/// A source that delivers the samples of the test.
private final class ScriptedSource: MediaSource {
    typealias Sample = String

    private struct State {
        var number = 0
        var deliver: (@Sendable (String) -> Void)?
        var ended: (@Sendable (SourceEnd) -> Void)?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let refusal: DeviceError?
    private let endAtStart: SourceEnd?
    private let started: @Sendable (Int) -> Void

    init(
        refusal: DeviceError? = nil, endAtStart: SourceEnd? = nil,
        started: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.refusal = refusal
        self.endAtStart = endAtStart
        self.started = started
    }

    var number: Int {
        get { state.withLock { $0.number } }
        set { state.withLock { $0.number = newValue } }
    }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func deliver(_ sample: String) { state.withLock { $0.deliver }?(sample) }
    func end(_ end: SourceEnd) { state.withLock { $0.ended }?(end) }

    func start(
        deliver: @escaping @Sendable (String) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        if let refusal { throw refusal }
        state.withLock { state in
            state.deliver = deliver
            state.ended = ended
        }
        if let endAtStart { ended(endAtStart) }
        started(number)
    }

    func stop() { state.withLock { $0.isStopped = true } }
}
