public import PCastCore
public import PCastIO
import Synchronization

/// A surface in a terminal, drawn with kitty's graphics protocol or with half blocks in 24-bit color.
///
/// Only changes are written, within the limit of bytes per second. While a slow terminal is busy, newer frames replace
/// older ones and nothing else waits. `close` restores the terminal and must be called; a signal that ends the process
/// restores it, too.
public final class TerminalSurface: RenderSurface {
    private struct State {
        var arrangement: FrameArrangement
        var statistics = SurfaceStatistics()
        /// Whether the last frame must be redrawn because the arrangement changed.
        var isStale = false
        var grid: TerminalGrid
        var cell: Dimensions?
        var drawing: TerminalOptions.Drawing
    }

    private struct Entry: Sendable {
        let frame: VideoFrame
        let given: Instant
    }

    /// The interval at which size and keys are polled.
    private static let interval = TimeSpan.milliseconds(100)

    private static let exitSequence = TerminalSequence.breakOff + KittyCanvas.removal + TerminalSequence.leave

    /// The time to wait for a slow terminal before it is left.
    private static let closeTimeout = TimeSpan.milliseconds(500)

    /// The target frame rate with kitty's protocol, which limits the pixels per frame.
    private static let kittyFramesPerSecond = 10

    private let device: TerminalDevice
    private let options: TerminalOptions
    private let queue = FrameQueue<Entry>(capacity: 1)
    private let sleep = CancellableSleep()
    private let surfaceEvents = SurfaceEvents()
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// Switches the terminal to raw mode and starts to draw. Throws `IOError` if there is no terminal or no thread can
    /// be created.
    public init(_ options: TerminalOptions = TerminalOptions()) throws(IOError) {
        self.options = options
        device = try TerminalDevice(path: options.path)
        guard let grid = device.grid else {
            device.close()
            throw .system(call: "reading the size of \(options.path)", errno: 25)
        }
        state = Mutex(State(arrangement: options.arrangement, grid: grid, drawing: options.drawing))
        device.enter(TerminalSequence.enter, exitSequence: Self.exitSequence)
        do throws(IOError) {
            let worker = try WorkerThread(name: "terminal") { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            device.leave()
            device.close()
            throw error
        }
    }

    /// Restores the terminal. It may be called repeatedly.
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
        surfaceEvents.notify(.lost(reason: "closed"))
        surfaceEvents.finish()
    }

    /// Shows a frame. It replaces a frame that was not drawn yet.
    public func show(_ frame: VideoFrame) {
        if queue.push(Entry(frame: frame, given: MonotonicClock.now())) != nil {
            state.withLock { $0.statistics.framesLeftOut += 1 }
        }
    }

    /// The arrangement of frames. A change applies to the current frame at once.
    public var arrangement: FrameArrangement {
        get { state.withLock { $0.arrangement } }
        set {
            state.withLock { state in
                state.isStale = state.isStale || state.arrangement != newValue
                state.arrangement = newValue
            }
        }
    }

    /// The statistics of the surface.
    public var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    /// The events of the surface from now on.
    public var events: AsyncStream<SurfaceEvent> { surfaceEvents.read() }

    /// The method of drawing; `automatic` until the terminal has reported its capabilities.
    public var drawing: TerminalOptions.Drawing { state.withLock { $0.drawing } }

    // MARK: Drawing thread

    private func run() {
        guard device.write(TerminalSequence.enter, while: continuesHere) else { return closeDevice() }
        var canvas = makeCanvas(drawing: choose())
        // Without this thread there is no keyboard input, but frames are still drawn.
        let reader = try? WorkerThread(name: "terminal-keys") { [self] in readKeys() }
        draw(on: &canvas)
        reader?.join()
        let deadline = MonotonicClock.now() + Self.closeTimeout
        _ = device.write(Self.exitSequence, while: { MonotonicClock.now() < deadline })
    }

    private func draw(on canvas: inout any TerminalCanvas) {
        var budget = ByteBudget(bytesPerSecond: options.bytesPerSecond)
        var last: VideoFrame?
        surfaceEvents.notify(.ready(state.withLock { $0.grid }.dimensions))
        while continuesHere() {
            let entry = queue.pop(until: MonotonicClock.now() + Self.interval)
            guard continuesHere() else { break }
            guard let changed = reset(&canvas) else { return closeDevice() }
            guard let frame = entry?.frame ?? (changed ? last : nil) else { continue }
            guard sleep.sleep(until: budget.earliest(at: MonotonicClock.now())) else { break }
            let newest = queue.popIfAny()
            if newest != nil, entry != nil { state.withLock { $0.statistics.framesLeftOut += 1 } }
            let shown = newest?.frame ?? frame
            last = shown
            let bytes = canvas.draw(shown, arrangement)
            let now = MonotonicClock.now()
            guard device.write(bytes, while: continuesHere) else {
                if continuesHere() { closeDevice() }
                break
            }
            budget.wrote(bytes.count, at: now)
            if let given = (newest ?? entry)?.given { count(MonotonicClock.now() - given) }
        }
    }

    private func continuesHere() -> Bool { !queue.isClosed }

    private func count(_ delay: TimeSpan) {
        state.withLock { state in
            state.statistics.framesShown += 1
            state.statistics.delay = delay
        }
    }

    private func closeDevice() {
        queue.close()
        surfaceEvents.notify(.lost(reason: "the terminal was closed"))
    }

    /// Resets the canvas if the size changed or the screen was lost. Returns whether the last frame must be redrawn;
    /// nil if the terminal is gone.
    private func reset(_ canvas: inout any TerminalCanvas) -> Bool? {
        guard let reportedGrid = device.grid else { return nil }
        let wasStopped = TerminalRestoration.takeStopped()
        let (grid, isResized, isStale) = state.withLock { state in
            let grid = TerminalGrid(
                columns: reportedGrid.columns, rows: reportedGrid.rows, cell: reportedGrid.cell ?? state.cell)
            defer { (state.grid, state.isStale) = (grid, false) }
            return (grid, grid != state.grid, state.isStale)
        }
        if isResized || wasStopped {
            guard device.write(canvas.reset(grid), while: continuesHere) else { return nil }
            surfaceEvents.notify(.resized(grid.dimensions))
        }
        return isResized || wasStopped || isStale
    }

    private func makeCanvas(drawing: TerminalOptions.Drawing) -> any TerminalCanvas {
        let grid = state.withLock { state in
            state.drawing = drawing
            return state.grid
        }
        guard drawing == .kitty else { return HalfBlockCanvas(grid) }
        // Base64 encodes the three bytes of a pixel in four characters.
        return KittyCanvas(grid, maximumPixels: max(10_000, options.bytesPerSecond / 4 / Self.kittyFramesPerSecond))
    }

    /// Queries the terminal's capabilities and waits for the response until the timeout.
    private func choose() -> TerminalOptions.Drawing {
        guard device.write(TerminalSequence.question, while: continuesHere) else { return .halfBlocks }
        let deadline = MonotonicClock.now() + options.timeout
        var input = TerminalInput()
        var hasGraphics = false
        asking: while continuesHere(), MonotonicClock.now() < deadline {
            guard let bytes = device.read(within: deadline - MonotonicClock.now()) else { break }
            for item in input.take(bytes) {
                switch item {
                case .graphics(let isThere): hasGraphics = isThere
                case .cell(let cell):
                    state.withLock { state in
                        state.cell = cell
                        if state.grid.cell == nil { state.grid.cell = cell }
                    }
                case .key(let key): surfaceEvents.notify(.key(key))
                case .click: surfaceEvents.notify(.clicked)
                case .attributes: break asking
                }
            }
        }
        switch options.drawing {
        case .automatic: return hasGraphics ? .kitty : .halfBlocks
        case .halfBlocks, .kitty: return options.drawing
        }
    }

    // MARK: Keyboard thread

    private func readKeys() {
        var input = TerminalInput()
        while continuesHere() {
            guard let bytes = device.read(within: Self.interval) else { return }
            for item in input.take(bytes) {
                switch item {
                case .key(let key): surfaceEvents.notify(.key(key))
                case .click: surfaceEvents.notify(.clicked)
                case .graphics, .cell, .attributes: break
                }
            }
        }
    }
}

extension TerminalGrid {
    /// The size in cells.
    fileprivate var dimensions: Dimensions { Dimensions(width: columns, height: rows) }
}
