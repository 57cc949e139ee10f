/// A source of video or audio: a device, a file, or a generator.
package protocol MediaSource<Sample>: AnyObject, Sendable {
    associatedtype Sample: Sendable

    /// Starts to deliver samples. It can be called only once.
    ///
    /// - Parameters:
    ///   - deliver: A callback for each sample, on the source's thread, at its time. It must not block.
    ///   - ended: A callback for the end of the source, on its thread. It is called at most once, and never after
    ///     `stop`.
    /// - Throws: `DeviceError` if the source does not start.
    func start(
        deliver: @escaping @Sendable (Sample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError)

    /// Stops delivery, releases the device, and waits until a running callback has returned, except when a callback
    /// calls it. It may be called repeatedly and before `start`.
    func stop()
}
