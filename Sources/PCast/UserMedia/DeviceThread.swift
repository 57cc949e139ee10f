import PCastDevices
import PCastIO

/// Runs functions that wait for a device or an address on their own threads, because the threads of Swift's concurrency
/// must not block.
enum DeviceThread {
    /// Returns the result of the function. Throws its error, or an error if there is no thread.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DeviceError) -> Value
    ) async throws(PCastError) -> Value {
        let result: Result<Value, DeviceError> = await withCheckedContinuation { continuation in
            do {
                _ = try WorkerThread(name: "devices") {
                    continuation.resume(returning: Result { () throws(DeviceError) in try body() })
                }
            } catch {
                continuation.resume(returning: .failure(.noThread("\(error)")))
            }
        }
        do throws(DeviceError) {
            return try result.get()
        } catch {
            throw PCastError(error)
        }
    }
}
