import { useEffect, useRef } from 'react'
import { ApprovalCard } from './cards/ApprovalCard.jsx'
import { ClosedCard } from './cards/ClosedCard.jsx'
import { FormCard } from './cards/FormCard.jsx'
import { GenericCard } from './cards/GenericCard.jsx'
import { SamplingCard } from './cards/SamplingCard.jsx'
import { classify } from './lib/interrupts.js'

const CARDS = {
  form: FormCard,
  sampling: SamplingCard,
  approval: ApprovalCard,
  generic: GenericCard,
  closed: ClosedCard,
}

const DRAFTS = 64

/**
 * What was typed into cards, by interrupt. A card goes away while its answer is
 * on the way and comes back when the answer is refused.
 */
function useDrafts() {
  const drafts = useRef(new Map())
  return (id) => ({
    read: () => drafts.current.get(id),
    write: (value) => {
      drafts.current.delete(id)
      drafts.current.set(id, value)
      const oldest = drafts.current.keys().next().value
      if (drafts.current.size > DRAFTS) drafts.current.delete(oldest)
    },
  })
}

/** Moves the focus to the first open question, and back when none is left. */
function useFocus(list, ids, onGone) {
  const before = useRef('')
  useEffect(() => {
    if (ids === before.current) return
    const had = before.current !== ''
    before.current = ids
    if (ids === '') {
      if (had) onGone()
      return
    }
    const card = list.current?.querySelector('[data-open="true"]') ?? list.current?.firstElementChild
    const target = card?.querySelector('[data-first]') ?? card
    target?.focus({ preventScroll: true })
    card?.scrollIntoView({ block: 'nearest' })
  })
}

/** One card for each question that the run is waiting on. */
export function Interrupts({ interrupts, orders, onStop, onGone }) {
  const list = useRef(null)
  const draftOf = useDrafts()
  const key = (item) => `${item.interruptedRunId}/${item.id}`
  useFocus(list, interrupts.map(key).join(' '), onGone)
  if (interrupts.length === 0) return null

  const open = interrupts.filter((item) => item.canResolve)
  return (
    <section className="interrupts" aria-label="Questions" ref={list}>
      {open.length > 1 && (
        <p className="muted">
          {open.length} questions are open. The answers are sent together, when all are given.
        </p>
      )}
      {interrupts.map((item) => {
        const view = classify(item)
        const Card = CARDS[view.card]
        return (
          <Card
            key={key(item)}
            item={item}
            view={view}
            order={orders.get(item.id)}
            draft={draftOf(key(item))}
            onStop={onStop}
          />
        )
      })}
    </section>
  )
}
