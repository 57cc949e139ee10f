/// Where pictures or sound come from: a device, a file, or nothing but time.
public protocol MediaSource<Sample>: AnyObject, Sendable {
    associatedtype Sample: Sendable

    /// Starts delivering. Once in a source's life.
    ///
    /// - Parameters:
    ///   - deliver: gets each sample on the source's own thread, when it is due; it must not block.
    ///   - ended: is called at most once, on the source's thread, when it ends of itself; never after `stop`.
    func start(
        deliver: @escaping @Sendable (Sample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError)

    /// Ends delivery, gives the device back, and waits until the last call has returned, unless called by one of them.
    /// Harmless when it was never started, and when called again.
    func stop()
}
