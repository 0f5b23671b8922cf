// Sets of names of the interface file.

public enum EdgeCondition: String, WireEnum {
    case succeeded, finished, failed, started
}

public enum CategoryMode: String, WireEnum {
    case units, exclusive, shared
}

public enum StateName: String, WireEnum {
    case pending, ready, executing, finished
}

public enum OutcomeName: String, WireEnum {
    case succeeded, failed, timedOut, cancelled, skipped, interrupted
}

public enum DaemonState: String, WireEnum {
    case running, draining, storageUnavailable
}

public enum CompletionKind: String, WireEnum {
    case operation, graph, queue, category
}

public enum ReasonKind: String, WireEnum {
    case dependency, category, queue, pool, suspended, held, notBefore, backoff, condition, barrier, group, storage
}

public enum EventType: String, WireEnum {
    case submitted, ready, started, progress, produced, retrying, cancelling, suspended, resumed, finished, edited,
        conditionFalse, interrupted
}
