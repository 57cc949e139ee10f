import Foundation

/// The allocation counter of `scripts/malloc-counter.c`, if this process was started with it.
struct AllocationCounter {
    private static let marker = "PCAST_BENCH_MALLOC_COUNTER"

    private let read: @convention(c) () -> UInt
    private let trace: @convention(c) (Int32) -> Void

    /// The number of allocations by this thread since it started.
    var count: Int { Int(read()) }

    /// Prints the backtraces of the next allocations by this thread.
    func traceNext(_ count: Int) { trace(Int32(count)) }

    /// The counter; nil if this process was not started with it.
    static let loaded: AllocationCounter? = {
        guard let read = dlsym(nil, "pcast_malloc_count"), let trace = dlsym(nil, "pcast_malloc_trace") else {
            return nil
        }
        return AllocationCounter(
            read: unsafeBitCast(read, to: (@convention(c) () -> UInt).self),
            trace: unsafeBitCast(trace, to: (@convention(c) (Int32) -> Void).self))
    }()

    /// Builds the counter and replaces this process with one that loads it. Returns if the counter is loaded. Throws
    /// `BenchFailure` without a C compiler, or if the kernel does not load it.
    static func load(source: String) throws {
        if loaded != nil { return }
        guard ProcessInfo.processInfo.environment[marker] == nil else {
            throw BenchFailure("the allocation counter was built but is not loaded")
        }
        let library = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(getuid())-\(getpid()).so")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["cc", "-O2", "-shared", "-fPIC", "-o", library.path, source]
        try compiler.run()
        compiler.waitUntilExit()
        guard compiler.terminationStatus == 0 else { throw BenchFailure("cc cannot build \(source)") }
        setenv(marker, library.path, 1)
        setenv("LD_PRELOAD", library.path, 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        execv("/proc/self/exe", &arguments)
        throw BenchFailure("the process cannot be restarted with the counter: \(String(cString: strerror(errno)))")
    }

    /// Removes the library's file. The library remains loaded.
    static func removeFile() {
        guard let path = ProcessInfo.processInfo.environment[marker] else { return }
        try? FileManager.default.removeItem(atPath: path)
    }
}
