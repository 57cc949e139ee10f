import PCastDevices
import PCastIO

/// Runs what waits for a device or an address on a thread of its own, since Swift's threads must not wait.
enum DeviceThread {
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
