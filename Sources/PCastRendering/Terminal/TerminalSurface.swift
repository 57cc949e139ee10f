public import PCastIO
public import PCastMedia
import Synchronization

/// A terminal on which a renderer's pictures are shown, by kitty's graphics protocol or in half blocks of 24-bit colour.
///
/// Only what has changed is written, and no more a second than is allowed; while a slow terminal has not taken a picture,
/// newer ones take each other's place and nothing else waits. It is put back as it was by `close`, which whoever makes one
/// must call, and when a signal ends the process.
public final class TerminalSurface: RenderSurface {
    private struct State {
        var arrangement: PictureArrangement
        var statistics = SurfaceStatistics()
        /// The last picture lies otherwise now.
        var isStale = false
        var grid: TerminalGrid
        var cell: Dimensions?
        var drawing: TerminalOptions.Drawing
    }

    private struct Entry: Sendable {
        let frame: VideoFrame
        let given: Instant
    }

    /// What a terminal's size and keys are looked at in.
    private static let interval = TimeSpan.milliseconds(100)

    private static let farewell = TerminalSequence.breakOff + KittyCanvas.removal + TerminalSequence.leave

    /// How long a terminal that is slow is waited for before it is left.
    private static let parting = TimeSpan.milliseconds(500)

    /// Kitty's pictures are sent with so many pixels, of three bytes, that ten fit into a second.
    private static let kittyPicturesPerSecond = 10

    private let device: TerminalDevice
    private let options: TerminalOptions
    private let queue = FrameQueue<Entry>(capacity: 1)
    private let sleep = CancellableSleep()
    private let surfaceEvents = SurfaceEvents()
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// Takes the terminal over.
    ///
    /// - Throws: when there is no terminal, or no thread can be had.
    public init(_ options: TerminalOptions = TerminalOptions()) throws(IOError) {
        self.options = options
        device = try TerminalDevice(path: options.path)
        guard let grid = device.grid else {
            device.close()
            throw .system(call: "asking \(options.path) for its size", errno: 25)
        }
        state = Mutex(State(arrangement: options.arrangement, grid: grid, drawing: options.drawing))
        device.enter(TerminalSequence.enter, farewell: Self.farewell)
        do throws(IOError) {
            let worker = try WorkerThread(name: "terminal") { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            device.leave()
            device.close()
            throw error
        }
    }

    /// Puts the terminal back as it was. Harmless when called again.
    public func close() {
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let thread else { return }
        sleep.cancel()
        queue.close()
        thread.join()
        device.leave()
        device.close()
        surfaceEvents.tell(.lost(reason: "closed"))
        surfaceEvents.finish()
    }

    public func show(_ frame: VideoFrame) {
        if queue.push(Entry(frame: frame, given: MonotonicClock.now())) != nil {
            state.withLock { $0.statistics.picturesLeftOut += 1 }
        }
    }

    public var arrangement: PictureArrangement {
        get { state.withLock { $0.arrangement } }
        set {
            state.withLock { state in
                state.isStale = state.isStale || state.arrangement != newValue
                state.arrangement = newValue
            }
        }
    }

    public var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    public var events: AsyncStream<SurfaceEvent> { surfaceEvents.read() }

    /// How pictures are drawn; `automatic` until the terminal has said what it can.
    public var drawing: TerminalOptions.Drawing { state.withLock { $0.drawing } }

    // MARK: The thread that draws

    private func run() {
        guard device.write(TerminalSequence.enter, while: goesOn) else { return lose() }
        var canvas = makeCanvas(drawing: choose())
        // Without its thread keys are not heard, and pictures are seen all the same.
        let reader = try? WorkerThread(name: "terminal-keys") { [self] in readKeys() }
        draw(on: &canvas)
        reader?.join()
        let deadline = MonotonicClock.now() + Self.parting
        _ = device.write(Self.farewell, while: { MonotonicClock.now() < deadline })
    }

    private func draw(on canvas: inout any TerminalCanvas) {
        var budget = ByteBudget(bytesPerSecond: options.bytesPerSecond)
        var last: VideoFrame?
        surfaceEvents.tell(.ready(state.withLock { $0.grid }.dimensions))
        while goesOn() {
            let entry = queue.pop(until: MonotonicClock.now() + Self.interval)
            guard goesOn() else { break }
            guard let changed = reset(&canvas) else { return lose() }
            guard let frame = entry?.frame ?? (changed ? last : nil) else { continue }
            guard sleep.sleep(until: budget.earliest(at: MonotonicClock.now())) else { break }
            let newest = queue.popIfAny()
            if newest != nil, entry != nil { state.withLock { $0.statistics.picturesLeftOut += 1 } }
            let shown = newest?.frame ?? frame
            last = shown
            let bytes = canvas.draw(shown, arrangement)
            let now = MonotonicClock.now()
            guard device.write(bytes, while: goesOn) else {
                if goesOn() { lose() }
                break
            }
            budget.wrote(bytes.count, at: now)
            if let given = (newest ?? entry)?.given { count(MonotonicClock.now() - given) }
        }
    }

    private func goesOn() -> Bool { !queue.isClosed }

    private func count(_ delay: TimeSpan) {
        state.withLock { state in
            state.statistics.picturesShown += 1
            state.statistics.delay = delay
        }
    }

    private func lose() {
        queue.close()
        surfaceEvents.tell(.lost(reason: "the terminal has gone"))
    }

    /// Begins anew where the terminal has another size, or lost what it showed. Answers whether the last picture is to be
    /// drawn again; nil when the terminal has gone.
    private func reset(_ canvas: inout any TerminalCanvas) -> Bool? {
        guard let told = device.grid else { return nil }
        let wasStopped = TerminalRestoration.takeStopped()
        let (grid, isResized, isStale) = state.withLock { state in
            let grid = TerminalGrid(columns: told.columns, rows: told.rows, cell: told.cell ?? state.cell)
            defer { (state.grid, state.isStale) = (grid, false) }
            return (grid, grid != state.grid, state.isStale)
        }
        if isResized || wasStopped {
            guard device.write(canvas.reset(grid), while: goesOn) else { return nil }
            surfaceEvents.tell(.resized(grid.dimensions))
        }
        return isResized || wasStopped || isStale
    }

    private func makeCanvas(drawing: TerminalOptions.Drawing) -> any TerminalCanvas {
        let grid = state.withLock { state in
            state.drawing = drawing
            return state.grid
        }
        guard drawing == .kitty else { return HalfBlockCanvas(grid) }
        // Base 64 makes four characters of the three bytes of a pixel.
        return KittyCanvas(grid, mostPixels: max(10_000, options.bytesPerSecond / 4 / Self.kittyPicturesPerSecond))
    }

    /// Asks the terminal what it can, and waits for its answer for some time.
    private func choose() -> TerminalOptions.Drawing {
        guard device.write(TerminalSequence.question, while: goesOn) else { return .halfBlocks }
        let deadline = MonotonicClock.now() + options.patience
        var input = TerminalInput()
        var hasGraphics = false
        asking: while goesOn(), MonotonicClock.now() < deadline {
            guard let bytes = device.read(within: deadline - MonotonicClock.now()) else { break }
            for item in input.take(bytes) {
                switch item {
                case .graphics(let isThere): hasGraphics = isThere
                case .cell(let cell):
                    state.withLock { state in
                        state.cell = cell
                        if state.grid.cell == nil { state.grid.cell = cell }
                    }
                case .key(let key): surfaceEvents.tell(.key(key))
                case .click: surfaceEvents.tell(.clicked)
                case .attributes: break asking
                }
            }
        }
        switch options.drawing {
        case .automatic: return hasGraphics ? .kitty : .halfBlocks
        case .halfBlocks, .kitty: return options.drawing
        }
    }

    // MARK: The thread that reads keys

    private func readKeys() {
        var input = TerminalInput()
        while goesOn() {
            guard let bytes = device.read(within: Self.interval) else { return }
            for item in input.take(bytes) {
                switch item {
                case .key(let key): surfaceEvents.tell(.key(key))
                case .click: surfaceEvents.tell(.clicked)
                case .graphics, .cell, .attributes: break
                }
            }
        }
    }
}

extension TerminalGrid {
    /// In cells.
    fileprivate var dimensions: Dimensions { Dimensions(width: columns, height: rows) }
}
