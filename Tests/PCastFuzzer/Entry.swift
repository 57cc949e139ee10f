import Dispatch
import Glibc
import PCastFuzzing

/// The target, by the environment, because libFuzzer reads the arguments.
private let target: FuzzTarget = {
    guard let name = getenv("PCAST_FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) else {
        fatalError("PCAST_FUZZ_TARGET names no target: run scripts/fuzz")
    }
    return target
}()

/// Writes the examples to the directory in which libFuzzer looks for the first inputs.
@_cdecl("LLVMFuzzerInitialize")
func initialize(_ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer) -> CInt {
    guard let directory = getenv("PCAST_FUZZ_CORPUS") else { return 0 }
    for (index, example) in target.corpus.enumerated() {
        guard let file = fopen("\(String(cString: directory))/example-\(index)", "wb") else { continue }
        fwrite(example, 1, example.count, file)
        fclose(file)
    }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
func test(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    let isDone = DispatchSemaphore(value: 0)
    // The thread of libFuzzer is none of those that tasks run on, so it may wait.
    Task.detached {
        do {
            try await target.run(bytes)
        } catch {
            fatalError("\(error)")
        }
        isDone.signal()
    }
    isDone.wait()
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer,
    _ test: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// The main function, by the name that SwiftPM gives it.
@_cdecl("PCastFuzzer_main")
func run(_ count: CInt, _ arguments: UnsafeMutableRawPointer) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, test)
}
