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
            state.statistics.delay = delay.duration
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
        let deadline = MonotonicClock.now().advanced(by: options.timeout)
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

/// Converts frames to the bytes to write to a terminal. It remembers what the terminal shows, so that only changes are
/// written. It does no I/O.
protocol TerminalCanvas {
    /// Returns the bytes that show a frame. It assumes that all previous bytes were written.
    mutating func draw(_ frame: VideoFrame, _ arrangement: FrameArrangement) -> [UInt8]

    /// Returns the bytes that clear the screen. Everything is redrawn afterwards.
    mutating func reset(_ grid: TerminalGrid) -> [UInt8]
}

/// Limits the bytes per second that are written to a terminal. It reads no clock; the caller passes the time.
struct ByteBudget {
    let bytesPerSecond: Int
    private var next: Instant?

    init(bytesPerSecond: Int) { self.bytesPerSecond = max(1, bytesPerSecond) }

    func earliest(at now: Instant) -> Instant { next.map { max($0, now) } ?? now }

    mutating func wrote(_ count: Int, at now: Instant) {
        next = earliest(at: now) + TimeSpan(seconds: Double(count) / Double(bytesPerSecond))
    }
}

/// The size of a terminal in cells, and the size of a cell.
package struct TerminalGrid: Hashable, Sendable {
    /// The largest number of columns or rows.
    private static let maximumCells = 1_000

    /// The number of columns, 1 to 1,000.
    package var columns: Int
    /// The number of rows, 1 to 1,000.
    package var rows: Int

    /// The size of a cell in pixels; nil if the terminal does not report it. Cells are usually about twice as high as
    /// wide.
    package var cell: Dimensions?

    /// Creates a grid. The numbers are clamped to 1...1,000, and an empty cell size counts as nil.
    package init(columns: Int, rows: Int, cell: Dimensions? = nil) {
        self.columns = min(max(1, columns), Self.maximumCells)
        self.rows = min(max(1, rows), Self.maximumCells)
        if let cell, cell.width > 0, cell.height > 0 { self.cell = cell }
    }

    /// The size of a cell, or a common size if it is unknown.
    var cellOrDefault: Dimensions { cell ?? Dimensions(width: 8, height: 16) }
}

/// The options of a terminal surface.
public struct TerminalOptions: Sendable {
    /// The method of drawing.
    public enum Drawing: String, CaseIterable, Sendable {
        /// Kitty's graphics protocol if the terminal supports it, otherwise half blocks.
        case automatic
        case halfBlocks
        case kitty
    }

    /// The path of the terminal. The default is that of the process.
    public var path: String

    /// The method of drawing.
    public var drawing: Drawing
    /// The arrangement of frames.
    public var arrangement: FrameArrangement

    /// The most bytes per second to write. Frames beyond that are dropped.
    public var bytesPerSecond: Int

    /// The timeout of the query for the terminal's capabilities.
    public var timeout: Duration

    /// Creates options.
    public init(
        path: String = "/dev/tty", drawing: Drawing = .automatic,
        arrangement: FrameArrangement = FrameArrangement(),
        bytesPerSecond: Int = 8_000_000, timeout: Duration = .seconds(1)
    ) {
        self.path = path
        self.drawing = drawing
        self.arrangement = arrangement
        self.bytesPerSecond = bytesPerSecond
        self.timeout = timeout
    }
}
