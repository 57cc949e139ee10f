/// A box that gives a value its own memory.
///
/// It holds a noncopyable value in a place that may be empty, because Swift cannot access a noncopyable value inside an
/// `Optional` without consuming it. It also holds a large value that most instances do not have. A box must have one
/// owner only, because exclusive access is not checked.
final class UniqueBox<Value: ~Copyable> {
    /// The value.
    ///
    /// It is marked `@safe` because the only owner of the box accesses it under its own exclusivity.
    @safe @exclusivity(unchecked) var value: Value

    init(_ value: consuming Value) { self.value = value }
}
